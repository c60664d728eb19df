import type { Context } from '../context.ts'
import { type CreatedFilter, createdBetween } from '../db/created-between.ts'
import type { User } from '../db/generated/prisma/client.ts'
import { isPossibleId, newId } from '../db/ids.ts'
import { type Direction, keysetPage } from '../db/keyset.ts'
import type { Condition } from '../db/list.ts'
import type { PageRequest } from '../db/page.ts'
import { invalidField } from '../errors.ts'
import { checkFilterTexts } from '../input/rules.ts'
import { readUserFields } from './user.input.ts'

/** Which users a list shows. What is absent or null does not restrict it. */
export interface UserFilter extends CreatedFilter {
  readonly email?: string | null | undefined
  readonly nameContains?: string | null | undefined
}

/** Which users a list shows, and in which order. */
export interface UserList {
  readonly filter: UserFilter
  readonly direction: Direction
}

/** @throws GatewayError BAD_USER_INPUT when a text is one that no row can have */
function conditionsOf({ email, nameContains, ...created }: UserFilter): Condition[] {
  checkFilterTexts({ email, nameContains })
  return [
    ...(email != null ? [{ field: 'email', is: '=' as const, value: email }] : []),
    ...(nameContains != null ? [{ field: 'name', is: 'contains' as const, value: nameContains }] : []),
    ...createdBetween(created),
  ]
}

/**
 * One page of users, with one row more than asked when there are more: one statement.
 *
 * @throws GatewayError BAD_USER_INPUT when a text of the filter is one that no row can have
 */
export async function readUserPage({ loaders }: Context, { filter, direction }: UserList, page: PageRequest) {
  return loaders.userList.read({ conditions: conditionsOf(filter), ...keysetPage(page, direction) })
}

/** How many users a filter shows: one statement. */
export async function countUsers({ loaders }: Context, filter: UserFilter): Promise<number> {
  return loaders.userList.count(conditionsOf(filter))
}

/** What a new user is made of, as the caller gave it. */
export interface NewUser {
  readonly name: string
  readonly email: string
  readonly phone: string
}

/**
 * Makes a user of the viewer's tenant.
 *
 * @throws GatewayError BAD_USER_INPUT naming every field that is refused; nothing is written
 */
export async function createUser({ viewer, create }: Context, input: NewUser): Promise<User> {
  const fields = readUserFields(input)
  const now = new Date()
  return create('User', {
    ...fields,
    id: newId('User'),
    tenantAppId: viewer.tenantAppId,
    createdAt: now,
    updatedAt: now,
  })
}

/** What to change of a user. Absent, and null for name and email: unchanged. `phone: null` clears it. */
export interface UserChange {
  readonly id: string
  readonly name?: string | null | undefined
  readonly email?: string | null | undefined
  readonly phone?: string | null | undefined
}

/**
 * Changes a user of the viewer's tenant.
 *
 * @throws GatewayError BAD_USER_INPUT naming every field that is refused, `id` with NOT_FOUND among them
 */
export async function updateUser({ viewer, prisma }: Context, { id, ...change }: UserChange): Promise<User> {
  const data = readUserFields(change)
  const where = { tenantAppId: viewer.tenantAppId, id }
  const [user] = isPossibleId(id)
    ? Object.keys(data).length > 0
      ? await prisma.user.updateManyAndReturn({ where, data })
      : await prisma.user.findMany({ where, take: 1 })
    : []
  if (!user) throw notAUser('id')
  return user
}

/**
 * Deletes a user of the viewer's tenant with everything that is the user's: the foreign keys take accounts, profiles
 * and emails along in the same statement.
 *
 * @returns the id that is gone
 * @throws GatewayError BAD_USER_INPUT with NOT_FOUND when the tenant has no such user
 */
export async function deleteUser({ viewer, prisma }: Context, { id }: { id: string }): Promise<string> {
  const where = { tenantAppId: viewer.tenantAppId, id }
  const { count } = isPossibleId(id) ? await prisma.user.deleteMany({ where }) : { count: 0 }
  if (count === 0) throw notAUser('id')
  return id
}

/** The refusal of an id that no user of the tenant has. */
export function notAUser(field: string) {
  return invalidField(field, 'NOT_FOUND', 'is not the id of a user')
}
