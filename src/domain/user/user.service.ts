import { GatewayError, invalidField } from '@fusion-gateway/base'
import { Prisma, type User } from '@fusion-gateway/database'
import type { Context } from '@fusion-gateway/gateway-kit'
import {
  deleteEach,
  type Outcome,
  outcomesOf,
  parseInput,
  type TargetInput,
  writeEach,
  writeOne,
} from '@fusion-gateway/input'
import { isPossibleId, isUniqueViolation } from '@fusion-gateway/sql'
import type { z } from 'zod'
import { newUser, userChange } from './user.input.ts'
import { userIds } from './user.ts'

type NewUser = z.input<typeof newUser>

type UserChange = z.input<typeof userChange> & { readonly id: string }

/**
 * Creates users. An input is rejected with CONFLICT for the `externalId` of another user.
 *
 * @throws GatewayError FORBIDDEN for a token that is bound to a user
 */
export function createUsers(context: Context, inputs: readonly NewUser[]): Promise<Outcome<User>[]> {
  return writeEach(inputs, {
    parse: (input) => toNewUser(context, input),
    unique: { externalId: ({ externalId }) => externalId },
    async write(users) {
      const isUnique = users.every(({ externalId }) => externalId == null)
      if (isUnique) return context.db.user.createManyAndReturn({ data: users })
      const created = await context.db.user.createManyAndReturn({ data: users, skipDuplicates: true })
      const byId = new Map(created.map((user) => [user.id, user]))
      return users.map(({ id }) => byId.get(id) ?? externalIdTaken())
    },
  })
}

export const createUser = writeOne(createUsers)

function toNewUser({ viewer }: Context, input: NewUser) {
  requireTenant(viewer, 'create users')
  const { metadata, ...fields } = parseInput(newUser, input)
  return { ...fields, metadata: toJson(metadata), id: userIds.create() }
}

/** @throws GatewayError FORBIDDEN for a token that is bound to a user. Others could be taken for this user */
export function requireTenant({ userId }: Context['viewer'], action: string): void {
  if (userId === undefined) return
  throw new GatewayError('FORBIDDEN', `An access token that is bound to a user cannot ${action}.`)
}

/** JSON as Prisma Client takes it. Null clears it. */
function toJson(value: object | null | undefined): Prisma.InputJsonObject | typeof Prisma.DbNull | undefined {
  return value === null ? Prisma.DbNull : (value as Prisma.InputJsonObject | undefined)
}

function externalIdTaken(): GatewayError {
  return invalidField('externalId', 'CONFLICT', 'is that of another user')
}

/**
 * Changes users of the viewer's tenant. Absent fields keep their value. An input is rejected with NOT_FOUND for `id`,
 * with CONFLICT for `expectedUpdatedAt`, and with CONFLICT for the `externalId` of another user.
 *
 * @throws GatewayError FORBIDDEN for a token that is bound to a user and sets `externalId` or `metadata`
 */
export function updateUsers(context: Context, inputs: readonly UserChange[]): Promise<Outcome<User>[]> {
  return writeEach(inputs, {
    parse({ id, ...input }) {
      const { expectedUpdatedAt: updatedAt, name, email, phone, externalId, metadata } = parseInput(userChange, input)
      if (!isPossibleId(id)) throw userNotFound('id')
      if (externalId !== undefined || metadata !== undefined)
        requireTenant(context.viewer, 'set externalId or metadata')
      // All changes name all fields, so that their statements are the same.
      return { where: { id, updatedAt }, data: { name, email, phone, externalId, metadata: toJson(metadata) } }
    },
    unique: { id: ({ where }) => where.id, externalId: ({ data }) => data.externalId },
    write: (changes) => writeChanges(context, changes, 3),
  })
}

export const updateUser = writeOne(updateUsers)

type WrittenChange = Parameters<Context['db']['user']['updateEach']>[0][number]

/** @param tries how often it looks who has the external ids, because others take some meanwhile */
async function writeChanges(
  context: Context,
  changes: readonly WrittenChange[],
  tries: number,
): Promise<Outcome<User>[]> {
  const { db } = context
  const targets = changes.map(({ where }) => where)
  const named = changes.flatMap(({ data }) => data.externalId ?? [])
  if (named.length === 0) return outcomesOf(targets, await db.user.updateEach(changes), db.user, userNotFound)
  const holderOf = await holdersOf(context, named)
  const isTaken = ({ where, data }: WrittenChange) => (holderOf.get(data.externalId ?? '') ?? where.id) !== where.id
  const free = changes.filter((change) => !isTaken(change))
  const update = context.sql.transact((sql) => context.within(sql).db.user.updateEach(free))
  const written = await update.catch((error: unknown) => {
    if (isUniqueViolation(error)) return 'taken' as const
    throw error
  })
  if (written === 'taken') {
    if (tries === 1) throw externalIdTaken()
    return writeChanges(context, changes, tries - 1)
  }
  const outcomes = await outcomesOf(
    free.map(({ where }) => where),
    written,
    db.user,
    userNotFound,
  )
  const outcomeOf = new Map(free.map((change, index) => [change, outcomes[index] as Outcome<User>]))
  return changes.map((change) => outcomeOf.get(change) ?? externalIdTaken())
}

/** The ids of the users that have external ids. */
export async function holdersOf(
  { db }: Pick<Context, 'db'>,
  externalIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const distinct = [...new Set(externalIds)]
  const found = await db.user.findMany({
    where: { externalId: { in: distinct } },
    select: { id: true, externalId: true },
    take: distinct.length,
  })
  return new Map(found.map(({ id, externalId }) => [externalId ?? '', id]))
}

export interface DeletedUser {
  readonly id: string
  readonly accountIds: readonly string[]
  readonly profileIds: readonly string[]
}

const withAccounts = { id: true, accounts: { select: { id: true, profile: { select: { id: true } } } } } as const

/**
 * Deletes users of the viewer's tenant. Foreign keys delete their accounts, profiles and emails in the same statement.
 * An input is rejected with NOT_FOUND for `id`, and with CONFLICT for `expectedUpdatedAt`.
 */
export function deleteUsers({ db }: Context, inputs: readonly TargetInput[]) {
  return deleteEach(inputs, {
    async remove(where) {
      const deleted = await db.user.deleteEach({ where, select: withAccounts })
      return deleted.map((user): DeletedUser | null => {
        if (!user) return null
        const profileIds = user.accounts.flatMap(({ profile }) => profile?.id ?? [])
        return { id: user.id, accountIds: user.accounts.map(({ id }) => id), profileIds: profileIds.sort() }
      })
    },
    rows: db.user,
    notFound: userNotFound,
  })
}

export const deleteUser = writeOne(deleteUsers)

export function userNotFound(field: string) {
  return invalidField(field, 'NOT_FOUND', 'is not the id of a user')
}
