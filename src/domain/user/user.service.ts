import type { z } from 'zod'
import { ownedBy } from '../../engine/auth/viewer.ts'
import type { Context } from '../../engine/context.ts'
import type { User } from '../../engine/db/generated/prisma/client.ts'
import { isPossibleId } from '../../engine/db/ids.ts'
import { GatewayError, invalidField } from '../../engine/errors.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { newUser, userChange } from './user.input.ts'
import { userIds } from './user.ts'

/**
 * Creates a user of the viewer's tenant.
 *
 * @throws GatewayError BAD_USER_INPUT naming every invalid field; FORBIDDEN for a token that is bound to a user
 */
export async function createUser({ viewer, insertRow }: Context, input: z.input<typeof newUser>): Promise<User> {
  if (viewer.userId !== undefined) {
    throw new GatewayError('FORBIDDEN', 'An access token that is bound to a user cannot create users.')
  }
  const fields = parseInput(newUser, input)
  const now = new Date()
  const { tenantAppId } = viewer
  const user = { ...fields, id: userIds.create(), tenantAppId, createdAt: now, updatedAt: now }
  await insertRow('User', user)
  return user
}

/**
 * Changes a user of the viewer's tenant. Absent fields keep their value.
 *
 * @throws GatewayError BAD_USER_INPUT naming every invalid field; NOT_FOUND for `id`
 */
export async function updateUser(
  { viewer, prisma }: Context,
  { id, ...input }: z.input<typeof userChange> & { readonly id: string },
): Promise<User> {
  const { name, email, phone } = parseInput(userChange, input)
  const data = { ...(name != null && { name }), ...(email != null && { email }), ...(phone !== undefined && { phone }) }
  if (!isPossibleId(id)) throw userNotFound('id')
  const where = { ...ownedBy(viewer, 'id'), id }
  const [user] =
    Object.keys(data).length > 0
      ? await prisma.user.updateManyAndReturn({ where, data })
      : await prisma.user.findMany({ where, take: 1 })
  if (!user) throw userNotFound('id')
  return user
}

/**
 * Deletes a user of the viewer's tenant. Foreign keys delete the user's accounts, profiles and emails in the same statement.
 *
 * @returns the id of the deleted user
 * @throws GatewayError BAD_USER_INPUT with NOT_FOUND
 */
export async function deleteUser({ viewer, prisma }: Context, { id }: { id: string }): Promise<string> {
  const where = { ...ownedBy(viewer, 'id'), id }
  const { count } = isPossibleId(id) ? await prisma.user.deleteMany({ where }) : { count: 0 }
  if (count === 0) throw userNotFound('id')
  return id
}

/** The rejection of an id that no user of the tenant has. */
export function userNotFound(field: string) {
  return invalidField(field, 'NOT_FOUND', 'is not the id of a user')
}
