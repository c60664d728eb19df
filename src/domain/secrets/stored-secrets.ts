import { type KeyRing, pairOwnerOf, type StoredKey, sealKey } from '@fusion-gateway/auth'
import type { Database } from '@fusion-gateway/database'
import { secretOwnerOf } from '../webhook/secrets.ts'

/** How a secret is stored: with the key at a position, with a key that the key ring lacks, or as it is. */
export type Storage = `key ${number}` | 'unknown key' | 'unencrypted'

interface StoredSecret {
  readonly kind: 'webhook' | 'signing key'
  readonly storage: Storage
  /** Stores it encrypted with the first key, unless it has changed meanwhile. Undefined if it cannot be read. */
  readonly encrypt: ((keyRing: KeyRing) => Promise<unknown>) | undefined
}

const pageSize = 1_000

/**
 * Reads all secrets of all tenants that have to be readable: those of webhooks, and the private keys that sign access
 * tokens.
 */
export async function* readStoredSecrets(
  database: Pick<Database, 'prisma'>,
  keyRing: KeyRing | undefined,
): AsyncGenerator<StoredSecret> {
  yield* readSecretsOfWebhooks(database, keyRing)
  yield* readPrivateKeys(database, keyRing)
}

async function* readSecretsOfWebhooks(
  { prisma }: Pick<Database, 'prisma'>,
  keyRing: KeyRing | undefined,
): AsyncGenerator<StoredSecret> {
  let after: { readonly tenantAppId: string; readonly id: string } | undefined
  for (;;) {
    const rows = await prisma.webhook.findMany({
      select: { tenantAppId: true, id: true, secret: true, previousSecret: true },
      orderBy: [{ tenantAppId: 'asc' }, { id: 'asc' }],
      take: pageSize,
      ...(after && { skip: 1, cursor: { tenantAppId_id: after } }),
    })
    for (const { tenantAppId, id, ...columns } of rows) {
      const owner = secretOwnerOf({ tenantAppId, id })
      for (const [column, stored] of Object.entries(columns)) {
        if (stored === null) continue
        const opened = keyRing?.open(stored, owner)
        const encrypt = (ring: KeyRing) =>
          prisma.webhook.updateMany({
            where: { tenantAppId, id, [column]: stored },
            data: { [column]: ring.encrypt(opened?.secret ?? '', owner) },
          })
        yield { kind: 'webhook', storage: storageOf(opened), encrypt: opened && encrypt }
      }
    }
    const last = rows.at(-1)
    if (rows.length < pageSize || !last) return
    after = { tenantAppId: last.tenantAppId, id: last.id }
  }
}

async function* readPrivateKeys(
  { prisma }: Pick<Database, 'prisma'>,
  keyRing: KeyRing | undefined,
): AsyncGenerator<StoredSecret> {
  const pairs = await prisma.signingKey.findMany({ select: { id: true, privateKey: true }, orderBy: { id: 'asc' } })
  for (const { id, privateKey } of pairs) {
    if (privateKey === null) continue
    const stored = privateKey as StoredKey
    const isPlain = !('encrypted' in stored)
    const opened = isPlain ? undefined : keyRing?.open(String(stored.encrypted), pairOwnerOf(id))
    const key = isPlain ? JSON.stringify(stored) : opened?.secret
    // A pair that was replaced meanwhile has no private key any more. Its private key never changes otherwise.
    const encrypt = (ring: KeyRing) => prisma.$executeRaw`
      UPDATE signing_key SET private_key = ${sealKey(id, key ?? '', ring)}::json
      WHERE id = ${id} AND private_key IS NOT NULL`
    yield {
      kind: 'signing key',
      storage: isPlain ? 'unencrypted' : storageOf(opened),
      encrypt: key === undefined ? undefined : encrypt,
    }
  }
}

function storageOf(opened: { readonly position: number } | undefined): Storage {
  return opened ? `key ${opened.position + 1}` : 'unknown key'
}
