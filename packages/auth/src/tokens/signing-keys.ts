import { createAged } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { statement } from '@fusion-gateway/sql'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { LRUCache } from 'lru-cache'
import { type KeyRing, unreadable } from '../secrets/key-ring.ts'

export const signingAlgorithm = 'EdDSA'

export type SigningKeys = ReturnType<typeof createSigningKeys>

/** A private key as it is stored. Older ones, and all without SECRET_KEYS, are not encrypted. */
export type StoredKey = JWK | { readonly encrypted: string }

interface KeyPair {
  readonly publicKey: JWK
  /** Null if the pair no longer signs. */
  readonly privateKey: StoredKey | null
}

export const pairOwnerOf = (kid: string) => `signing_key ${kid}`

export function sealKey(kid: string, key: string, keyRing: KeyRing | undefined): string {
  return keyRing ? JSON.stringify({ encrypted: keyRing.encrypt(key, pairOwnerOf(kid)) }) : key
}

/** @throws GatewayError SERVICE_UNAVAILABLE if the key is encrypted with a key that this process does not have */
function unsealKey(kid: string, stored: StoredKey, keyRing: KeyRing | undefined): JWK {
  if (!('encrypted' in stored)) return stored
  if (!keyRing) throw unreadable('SECRET_KEYS is not set, and the key that signs access tokens is encrypted')
  return JSON.parse(keyRing.decrypt(String(stored.encrypted), pairOwnerOf(kid))) as JWK
}

// A token is valid for a day at most, and a gateway may sign with the old key for some seconds more.
const listPairs = statement(`
  SELECT public_key::text, private_key::text FROM signing_key
  WHERE retired_at IS NULL OR retired_at > now() - interval '25 hours' ORDER BY created_at DESC, id DESC`)

const insertPair = 'INSERT INTO signing_key (id, public_key, private_key) SELECT $1, $2::json, $3::json'

const insertFirst = statement(`${insertPair} WHERE NOT EXISTS (SELECT FROM signing_key WHERE private_key IS NOT NULL)`)

const lockPairs = statement('LOCK TABLE signing_key IN SHARE ROW EXCLUSIVE MODE')

const retirePairs = statement(
  'UPDATE signing_key SET private_key = NULL, retired_at = now() WHERE private_key IS NOT NULL',
)

const removeRetired = statement(`DELETE FROM signing_key WHERE retired_at < now() - interval '25 hours'`)

const insertNext = statement(insertPair)

/** How old the key that signs can be. */
const maxAgeMilliseconds = 3_000

/** How old the keys that verify can be. A token names its key, so an unknown key is read at once. */
const maxVerifyingAgeMilliseconds = 60_000

/** How often, at most, unknown ids of keys make the gateway read the keys again. */
const minAgeMilliseconds = 1_000

/**
 * Creates the key pairs that sign access tokens. All gateways of a migrated database have the same ones.
 *
 * @param keyRing encrypts the private keys that are stored from now on
 */
export function createSigningKeys({ sql }: Pick<Database, 'sql'>, keyRing?: KeyRing) {
  const pairs = createAged(async () =>
    (await sql.query(listPairs)).map(
      ([publicKey, privateKey]): KeyPair => ({
        publicKey: JSON.parse(String(publicKey)) as JWK,
        privateKey: privateKey === null ? null : (JSON.parse(String(privateKey)) as StoredKey),
      }),
    ),
  )
  const imported = new LRUCache<string, Promise<CryptoKey>>({ max: 100 })

  function importKey(name: string, key: JWK): Promise<CryptoKey> {
    const known = imported.get(name) ?? (importJWK(key, signingAlgorithm) as Promise<CryptoKey>)
    imported.set(name, known)
    return known
  }

  async function findSigning(maxAge: number) {
    const pair = (await pairs.within(maxAge)).find(({ privateKey }) => privateKey !== null)
    if (!pair?.privateKey) return undefined
    const kid = String(pair.publicKey.kid)
    return { kid, key: await importKey(`${kid} private`, unsealKey(kid, pair.privateKey, keyRing)) }
  }

  const findIn = (known: readonly KeyPair[] | undefined, kid: string) =>
    known?.find(({ publicKey }) => publicKey.kid === kid)?.publicKey

  return {
    /** Returns the key that signs now, and its id in the header of a token. Creates the first one. */
    async current() {
      const known = await findSigning(maxAgeMilliseconds)
      if (known) return known
      const pair = await createPair(keyRing)
      // On a distributed database, two gateways that create it at once can deadlock.
      await sql.attempt((sql) => sql.execute(insertFirst, pair))
      const created = await findSigning(Number.NEGATIVE_INFINITY)
      if (!created) throw new Error('A signing key was created but not found')
      return created
    },
    async find(kid: string): Promise<CryptoKey | undefined> {
      const known = findIn(pairs.last(), kid)
      // Verifying does not wait for the database, and works without it.
      if (known && pairs.age() > maxVerifyingAgeMilliseconds) pairs.refresh().catch(() => undefined)
      const key = known ?? findIn(await pairs.newer(minAgeMilliseconds), kid)
      return key && importKey(kid, key)
    },
    /** Lists the public keys, newest first: of the pair that signs, and of those whose tokens have not all expired. */
    publicKeys: async () => (await pairs.within(maxAgeMilliseconds)).map(({ publicKey }) => publicKey),
  }
}

/**
 * Creates a key pair that signs from now on. The public key of the old one stays until its tokens have expired.
 *
 * @returns the id of the new key
 */
export function rotateSigningKey({ sql }: Pick<Database, 'sql'>, keyRing?: KeyRing): Promise<string> {
  return sql.transact(async (transaction) => {
    const pair = await createPair(keyRing)
    await transaction.execute(lockPairs)
    await transaction.execute(retirePairs)
    await transaction.execute(removeRetired)
    await transaction.execute(insertNext, pair)
    return pair[0]
  })
}

/** @returns its id, the public key and the private key as it is stored */
async function createPair(keyRing: KeyRing | undefined): Promise<[string, string, string]> {
  const { publicKey, privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true })
  const jwk = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(jwk)
  const publicJwk: JWK = { ...jwk, kid, use: 'sig', alg: signingAlgorithm }
  return [kid, JSON.stringify(publicJwk), sealKey(kid, JSON.stringify(await exportJWK(privateKey)), keyRing)]
}
