import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { Database } from '../../db/database.ts'
import { execute, query, statement } from '../../db/statement.ts'

/** The algorithm of the tokens that the gateway signs. */
export const signingAlgorithm = 'EdDSA'

/** A key that signs, and its id in the header of a token. */
export interface SigningKey {
  readonly kid: string
  readonly key: CryptoKey
}

/** The key pairs that sign access tokens. All gateways of a database have the same ones. */
export interface SigningKeys {
  /** Returns the key that signs now. Creates the first one. */
  current(): Promise<SigningKey>
  /** Returns the public key with an id. */
  find(kid: string): Promise<CryptoKey | undefined>
  /** Lists the public keys, newest first: of the pair that signs, and of those whose tokens have not all expired. */
  publicKeys(): Promise<readonly JWK[]>
}

interface KeyPair {
  readonly publicKey: JWK
  /** Null if the pair no longer signs. */
  readonly privateKey: JWK | null
}

const listPairs = statement(
  'SELECT public_key::text, private_key::text FROM signing_key ORDER BY created_at DESC, id DESC',
)

const insertPair = 'INSERT INTO signing_key (id, public_key, private_key) SELECT $1, $2::json, $3::json'

const insertFirst = statement(`${insertPair} WHERE NOT EXISTS (SELECT FROM signing_key WHERE private_key IS NOT NULL)`)

const retirePairs = statement(
  'UPDATE signing_key SET private_key = NULL, retired_at = now() WHERE private_key IS NOT NULL',
)

// A token is valid for a day at most, and a gateway may sign with the old key for some seconds more.
const removeRetired = statement(`DELETE FROM signing_key WHERE retired_at < now() - interval '25 hours'`)

const insertNext = statement(insertPair)

/** How old the key that signs can be. Verifying needs no reload, because a token names its key. */
const maxAgeMilliseconds = 3_000

/** An unknown id of a key reads the keys again, but not more often. */
const minAgeMilliseconds = 1_000

/** Creates the key pairs of a migrated database. */
export function createSigningKeys({ sql }: Pick<Database, 'sql'>): SigningKeys {
  let pairs: Promise<readonly KeyPair[]> = Promise.resolve([])
  let readAt = Number.NEGATIVE_INFINITY
  const imported = new Map<string, Promise<CryptoKey>>()

  function read(maxAge: number): Promise<readonly KeyPair[]> {
    if (Date.now() - readAt <= maxAge) return pairs
    readAt = Date.now()
    pairs = query(sql, listPairs).then((rows) =>
      rows.map(([publicKey, privateKey]) => ({
        publicKey: JSON.parse(String(publicKey)) as JWK,
        privateKey: privateKey === null ? null : (JSON.parse(String(privateKey)) as JWK),
      })),
    )
    pairs.catch(() => {
      readAt = Number.NEGATIVE_INFINITY
    })
    return pairs
  }

  function importKey(name: string, key: JWK): Promise<CryptoKey> {
    const known = imported.get(name) ?? (importJWK(key, signingAlgorithm) as Promise<CryptoKey>)
    imported.set(name, known)
    return known
  }

  async function findSigning(maxAge: number): Promise<SigningKey | undefined> {
    const pair = (await read(maxAge)).find(({ privateKey }) => privateKey !== null)
    if (!pair?.privateKey) return undefined
    const kid = String(pair.publicKey.kid)
    return { kid, key: await importKey(`${kid} private`, pair.privateKey) }
  }

  const findPublic = async (kid: string, maxAge: number) =>
    (await read(maxAge)).find(({ publicKey }) => publicKey.kid === kid)?.publicKey

  return {
    async current() {
      const known = await findSigning(maxAgeMilliseconds)
      if (known) return known
      await execute(sql, insertFirst, await createPair())
      const created = await findSigning(0)
      if (!created) throw new Error('A signing key was created but not found')
      return created
    },
    async find(kid) {
      const key = (await findPublic(kid, Number.POSITIVE_INFINITY)) ?? (await findPublic(kid, minAgeMilliseconds))
      return key && importKey(kid, key)
    },
    publicKeys: async () => (await read(maxAgeMilliseconds)).map(({ publicKey }) => publicKey),
  }
}

/**
 * Creates a key pair that signs from now on. The public key of the old one stays until its tokens have expired.
 *
 * @returns the id of the new key
 */
export function rotateSigningKey({ sql, transact }: Pick<Database, 'sql' | 'transact'>): Promise<string> {
  return transact(async () => {
    const pair = await createPair()
    await execute(sql, retirePairs)
    await execute(sql, removeRetired)
    await execute(sql, insertNext, pair)
    return pair[0]
  })
}

/** A stored key pair, without its private key. */
export interface SigningKeyState {
  readonly id: string
  readonly createdAt: Date
  /** When it stopped signing; null if it signs. */
  readonly retiredAt: Date | null
}

/** Lists the key pairs, oldest first. */
export function listSigningKeys({ prisma }: Pick<Database, 'prisma'>): Promise<SigningKeyState[]> {
  return prisma.signingKey.findMany({
    select: { id: true, createdAt: true, retiredAt: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  })
}

/** @returns its id, the public key and the private key */
async function createPair(): Promise<[string, string, string]> {
  const { publicKey, privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true })
  const jwk = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(jwk)
  const shown: JWK = { ...jwk, kid, use: 'sig', alg: signingAlgorithm }
  return [kid, JSON.stringify(shown), JSON.stringify(await exportJWK(privateKey))]
}
