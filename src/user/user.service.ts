import type { Context } from '../context.ts'
import type { Prisma, User } from '../db/generated/prisma/client.ts'
import { isPossibleId, newId } from '../db/ids.ts'
import type { PageRequest, Position } from '../db/page.ts'
import { isStorableText } from '../db/storable.ts'
import { invalidField } from '../errors.ts'
import { readUserFields } from './user.input.ts'

/** Which users a list shows. What is absent or null does not restrict it. */
export interface UserFilter {
  readonly email?: string | null | undefined
  readonly nameContains?: string | null | undefined
  readonly createdAfter?: Date | null | undefined
  readonly createdBefore?: Date | null | undefined
}

/** Oldest first, or newest first. */
export type OrderDirection = 'ASC' | 'DESC'

/** Which users a list shows, and in which order. */
export interface UserList {
  readonly filter: UserFilter
  readonly direction: OrderDirection
}

/**
 * The tenant's users of a filter, as Prisma asks for them. Nothing reads users in a list without it.
 *
 * @throws GatewayError BAD_USER_INPUT when a text is one that no row can have
 */
export function usersWhere({ viewer }: Context, filter: UserFilter): Prisma.UserWhereInput {
  const { email, nameContains, createdAfter, createdBefore } = filter
  for (const [field, text] of Object.entries({ email, nameContains })) {
    if (text != null && !isStorableText(text)) {
      throw invalidField(
        `filter.${field}`,
        'INVALID_FORMAT',
        'must not contain NUL characters or halves of surrogate pairs',
      )
    }
  }
  return {
    tenantAppId: viewer.tenantAppId,
    ...(email != null && { email }),
    ...(nameContains != null && { name: { contains: escapeLike(nameContains), mode: 'insensitive' } }),
    createdAt: {
      ...(createdAfter != null && { gt: createdAfter }),
      ...(createdBefore != null && { lt: createdBefore }),
    },
  }
}

/** Prisma hands `contains` to LIKE as it is: `50%` would find every name with a 50 in it. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** One page of users, with one row more than asked when there are more: one statement, by key and never by offset. */
export function readUserPage(context: Context, { filter, direction }: UserList, page: PageRequest): Promise<User[]> {
  const forwards = (direction === 'ASC') !== page.fromBack
  const towards = direction === 'ASC' ? beyond : before
  const away = direction === 'ASC' ? before : beyond
  return context.prisma.user.findMany({
    where: {
      AND: [usersWhere(context, filter), page.after ? towards(page.after) : {}, page.before ? away(page.before) : {}],
    },
    orderBy: [{ createdAt: forwards ? 'asc' : 'desc' }, { id: forwards ? 'asc' : 'desc' }],
    take: page.size + 1,
  })
}

// (createdAt, id) > (…): the first condition is what lets the index begin at the cursor, whatever came before it.
const beyond = ({ createdAt, id }: Position): Prisma.UserWhereInput => ({
  createdAt: { gte: createdAt },
  OR: [{ createdAt: { gt: createdAt } }, { id: { gt: id } }],
})

const before = ({ createdAt, id }: Position): Prisma.UserWhereInput => ({
  createdAt: { lte: createdAt },
  OR: [{ createdAt: { lt: createdAt } }, { id: { lt: id } }],
})

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
