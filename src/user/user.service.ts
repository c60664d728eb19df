import type { Context } from '../context.ts'
import { type CreatedFilter, createdBetween } from '../db/created-between.ts'
import type { Prisma, User } from '../db/generated/prisma/client.ts'
import { isPossibleId, newId } from '../db/ids.ts'
import { type Direction, keysetPage } from '../db/keyset.ts'
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

/**
 * The tenant's users of a filter, as Prisma asks for them. Nothing reads users in a list without it.
 *
 * @throws GatewayError BAD_USER_INPUT when a text is one that no row can have
 */
export function usersWhere({ viewer }: Context, filter: UserFilter): Prisma.UserWhereInput {
  const { email, nameContains } = filter
  checkFilterTexts({ email, nameContains })
  return {
    tenantAppId: viewer.tenantAppId,
    ...(email != null && { email }),
    ...(nameContains != null && { name: { contains: escapeLike(nameContains), mode: 'insensitive' } }),
    createdAt: createdBetween(filter),
  }
}

/** Prisma hands `contains` to LIKE as it is: `50%` would find every name with a 50 in it. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** One page of users, with one row more than asked when there are more: one statement. */
export function readUserPage(context: Context, { filter, direction }: UserList, page: PageRequest): Promise<User[]> {
  const { bounds, orderBy, take } = keysetPage(page, direction)
  return context.prisma.user.findMany({ where: { AND: [usersWhere(context, filter), ...bounds] }, orderBy, take })
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
export async function createUser({ viewer, prisma }: Context, input: NewUser): Promise<User> {
  const fields = readUserFields(input)
  const now = new Date()
  return prisma.user.create({
    data: {
      ...(fields as NewUser),
      id: newId('User'),
      tenantAppId: viewer.tenantAppId,
      createdAt: now,
      updatedAt: now,
    },
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
