import type { Database } from '../db/database.ts'
import type { ApiKey, Prisma } from '../db/generated/prisma/client.ts'
import { newId } from '../db/ids.ts'
import { isName, OperatorError } from '../operator.ts'
import { generateApiKey, hashApiKey } from './api-key.ts'
import { scopes as allScopes } from './scopes.ts'

/** What a new key is made of. */
export interface NewKey {
  readonly tenantAppId: string
  readonly name: string
  /** All of them when absent. */
  readonly scopes?: readonly string[] | undefined
  /** Never when absent. */
  readonly expiresAt?: Date | undefined
  /** The key itself; a new one when absent. */
  readonly key?: string
}

/**
 * Makes a key.
 *
 * @returns the stored row and the key itself, which nothing can tell again
 * @throws OperatorError when the name is none, a scope is unknown, there is no scope, or the expiry is past
 */
export async function createKey(
  { prisma }: { readonly prisma: Prisma.TransactionClient },
  newKey: NewKey,
): Promise<{ row: ApiKey; key: string }> {
  const { tenantAppId, name, scopes = allScopes, expiresAt, key = generateApiKey() } = newKey
  if (!isName(name)) throw new OperatorError('A key needs a name of 1–200 characters, in one line.')
  if (scopes.length === 0) throw new OperatorError(`A key needs a scope. There are: ${allScopes.join(', ')}`)
  const unknown = scopes.filter((scope) => !allScopes.some((known) => known === scope))
  if (unknown.length > 0) {
    throw new OperatorError(`There is no scope ${unknown.join(', ')}. There are: ${allScopes.join(', ')}`)
  }
  if (expiresAt && expiresAt.getTime() <= Date.now()) throw new OperatorError('The expiry must be in the future.')
  const row = await prisma.apiKey.create({
    data: {
      tenantAppId,
      id: newId('ApiKey'),
      hash: hashApiKey(key),
      name,
      scopes: [...scopes],
      expiresAt: expiresAt ?? null,
    },
  })
  return { row, key }
}

/**
 * Makes a successor of a key, with the same name, scopes and length of life, and lets the old one live a while longer.
 *
 * @param graceMilliseconds how long the old key works on, unless it expires before; 0: it ends now
 * @returns the new key itself, which nothing can tell again
 * @throws OperatorError when there is no such key, it does not work any more, or it has a successor
 */
export async function rotateKey(
  { prisma: database }: Pick<Database, 'prisma'>,
  id: string,
  graceMilliseconds: number,
): Promise<{ row: ApiKey; key: string }> {
  const old = await database.apiKey.findFirst({ where: { id } })
  if (!old) throw noSuchKey(id)
  const now = Date.now()
  if (old.revokedAt || (old.expiresAt && old.expiresAt.getTime() <= now)) {
    throw new OperatorError(`The key ${id} does not work any more. Make a new one: npm run fusion -- keys create`)
  }
  const { tenantAppId, name, scopes, createdAt, expiresAt } = old
  const end = new Date(now + graceMilliseconds)
  return database.$transaction(async (prisma) => {
    const life = expiresAt ? expiresAt.getTime() - createdAt.getTime() : undefined
    const made = await createKey(
      { prisma },
      { tenantAppId, name, scopes, expiresAt: life === undefined ? undefined : new Date(now + life) },
    )
    // A second rotation would measure that life by the grace of the first.
    const { count } = await prisma.apiKey.updateMany({
      where: { tenantAppId, id, revokedAt: null, successorId: null },
      data: { successorId: made.row.id, ...(!(expiresAt && expiresAt < end) && { expiresAt: end }) },
    })
    if (count === 0)
      throw new OperatorError(`The key ${id} was rotated or revoked already. See: npm run fusion -- keys list`)
    return made
  })
}

/** All keys with their tenants' names, oldest first. */
export function listKeys({ prisma }: Database) {
  return prisma.apiKey.findMany({ include: { tenantApp: true }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
}

/**
 * Revokes a key: it stops working. Revoking it again changes nothing.
 *
 * @param id the key's id, as `listKeys` shows it
 * @throws OperatorError when there is no such key
 */
export async function revokeKey({ prisma }: Database, id: string): Promise<void> {
  const key = await prisma.apiKey.findFirst({ where: { id } })
  if (!key) throw noSuchKey(id)
  await prisma.apiKey.updateMany({
    where: { tenantAppId: key.tenantAppId, id, revokedAt: null },
    data: { revokedAt: new Date() },
  })
}

function noSuchKey(id: string): OperatorError {
  return new OperatorError(`There is no key with the id ${id}. See: npm run fusion -- keys list`)
}
