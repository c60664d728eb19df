import type { z } from 'zod'
import type { Context } from '../../engine/context.ts'
import type { User } from '../../engine/db/generated/prisma/client.ts'
import { isPossibleId } from '../../engine/db/storable.ts'
import { insertRow, insertRows } from '../../engine/db/write/insert.ts'
import { GatewayError, invalidField } from '../../engine/errors.ts'
import { parseInput } from '../../engine/input/rules.ts'
import {
  deleteEach,
  type Outcome,
  outcomesOf,
  type TargetInput,
  writeEach,
  writeOne,
} from '../../engine/input/write-each.ts'
import { newUser, userChange } from './user.input.ts'
import { userIds } from './user.ts'

type NewUser = z.input<typeof newUser>

type UserChange = z.input<typeof userChange> & { readonly id: string }

/** @throws GatewayError BAD_USER_INPUT naming every invalid field; FORBIDDEN for a token that is bound to a user */
export async function createUser(context: Context, input: NewUser): Promise<User> {
  const user = toNewUser(context, input)
  // For one row this costs less than `createUsers`.
  await insertRow(context.sql, 'User', user)
  return user
}

/** @throws GatewayError FORBIDDEN for a token that is bound to a user */
export function createUsers(context: Context, inputs: readonly NewUser[]): Promise<Outcome<User>[]> {
  return writeEach(inputs, {
    parse: (input) => toNewUser(context, input),
    async write(users) {
      await insertRows(context.sql, 'User', users)
      return users
    },
  })
}

function toNewUser({ viewer }: Context, input: NewUser): User {
  if (viewer.userId !== undefined) {
    throw new GatewayError('FORBIDDEN', 'An access token that is bound to a user cannot create users.')
  }
  const now = new Date()
  const { tenantAppId } = viewer
  return { ...parseInput(newUser, input), id: userIds.create(), tenantAppId, createdAt: now, updatedAt: now }
}

/**
 * Changes users of the viewer's tenant. Absent fields keep their value. An input is rejected with NOT_FOUND for `id`,
 * and with CONFLICT for `expectedUpdatedAt`.
 */
export function updateUsers({ rows }: Context, inputs: readonly UserChange[]): Promise<Outcome<User>[]> {
  return writeEach(inputs, {
    parse({ id, ...input }) {
      const change = parseInput(userChange, input)
      if (!isPossibleId(id)) throw userNotFound('id')
      return { id, ...change }
    },
    unique: { id: ({ id }) => id },
    async write(changes) {
      const updated = await rows.update('User', ['name', 'email', 'phone'], changes)
      return outcomesOf(changes, updated, (ids) => rows.find('User', ids), userNotFound)
    },
  })
}

export const updateUser = writeOne(updateUsers)

/** A user, and what was deleted with the user. */
export interface DeletedUser {
  readonly id: string
  readonly accountIds: readonly string[]
  readonly profileIds: readonly string[]
}

const accountsOfUser =
  'ARRAY(SELECT "id" FROM "account" WHERE "tenant_app_id" = $1 AND "user_id" = "user"."id" ORDER BY "id" COLLATE "C")'
const profilesOfUser =
  'ARRAY(SELECT profile."id" FROM "account" JOIN "profile" ON profile."tenant_app_id" = $1 AND profile."account_id" = account."id" ' +
  'WHERE account."tenant_app_id" = $1 AND account."user_id" = "user"."id" ORDER BY profile."id" COLLATE "C")'

/**
 * Deletes users of the viewer's tenant. Foreign keys delete their accounts, profiles and emails in the same statement.
 * An input is rejected with NOT_FOUND for `id`, and with CONFLICT for `expectedUpdatedAt`.
 */
export function deleteUsers({ rows }: Context, inputs: readonly TargetInput[]) {
  return deleteEach(inputs, {
    async remove(targets) {
      const deleted = await rows.delete('User', targets, [accountsOfUser, profilesOfUser])
      return new Map(
        [...deleted].map(([id, [accountIds, profileIds]]) => [id, { id, accountIds, profileIds } as DeletedUser]),
      )
    },
    find: (ids) => rows.find('User', ids),
    notFound: userNotFound,
  })
}

export const deleteUser = writeOne(deleteUsers)

export function userNotFound(field: string) {
  return invalidField(field, 'NOT_FOUND', 'is not the id of a user')
}
