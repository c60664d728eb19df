import { GatewayError, invalidField } from '@fusion-gateway/base'
import type { User } from '@fusion-gateway/database'
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
import { isPossibleId } from '@fusion-gateway/sql'
import type { z } from 'zod'
import { newUser, userChange } from './user.input.ts'
import { userIds } from './user.ts'

type NewUser = z.input<typeof newUser>

type UserChange = z.input<typeof userChange> & { readonly id: string }

/** @throws GatewayError FORBIDDEN for a token that is bound to a user */
export function createUsers(context: Context, inputs: readonly NewUser[]): Promise<Outcome<User>[]> {
  return writeEach(inputs, {
    parse: (input) => toNewUser(context, input),
    write: (users) => context.db.user.createManyAndReturn({ data: users }),
  })
}

export const createUser = writeOne(createUsers)

function toNewUser({ viewer }: Context, input: NewUser) {
  if (viewer.userId !== undefined) {
    throw new GatewayError('FORBIDDEN', 'An access token that is bound to a user cannot create users.')
  }
  return { ...parseInput(newUser, input), id: userIds.create() }
}

/**
 * Changes users of the viewer's tenant. Absent fields keep their value. An input is rejected with NOT_FOUND for `id`,
 * and with CONFLICT for `expectedUpdatedAt`.
 */
export function updateUsers({ db }: Context, inputs: readonly UserChange[]): Promise<Outcome<User>[]> {
  return writeEach(inputs, {
    parse({ id, ...input }) {
      const { expectedUpdatedAt: updatedAt, name, email, phone } = parseInput(userChange, input)
      if (!isPossibleId(id)) throw userNotFound('id')
      // All changes name all fields, so that their statements are the same.
      return { where: { id, updatedAt }, data: { name, email, phone } }
    },
    unique: { id: ({ where }) => where.id },
    async write(changes) {
      const targets = changes.map(({ where }) => where)
      return outcomesOf(targets, await db.user.updateEach(changes), db.user, userNotFound)
    },
  })
}

export const updateUser = writeOne(updateUsers)

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
