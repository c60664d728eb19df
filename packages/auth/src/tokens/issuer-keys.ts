import { createAged, OperatorError } from '@fusion-gateway/base'
import { type AllowedNetworks, loadGuardedAgent, readBytes } from '@fusion-gateway/network'
import type { Logger } from '@fusion-gateway/telemetry'
import { compactVerify, createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { LRUCache } from 'lru-cache'
import { fetch } from 'undici'
import { z } from 'zod'
import { type IssuerSettings, maxFileBytes, readJson } from './issuer-settings.ts'

const { createGuardedAgent } = await loadGuardedAgent()

/** The algorithms of the tokens of issuers, by the type of the key. */
export const algorithms = { RSA: 'RS256', EC: 'ES256', OKP: 'EdDSA' } as const

const timeoutMilliseconds = 5_000

/** How old the keys must be before a token with an unknown key makes the gateway read them again. */
const minAgeMilliseconds = 1_000

/** How many tokens with unknown keys wait for the next read of the keys. Others are refused at once. */
const maxWaiting = 10

/** How many unknown keys are remembered. */
const maxUnknown = 1_000

/** The pause after the keys could not be read. */
const cooldownMilliseconds = 5_000

/** How long keys are used without reading them again. */
const maxAgeMilliseconds = 600_000

/** How long the keys of a file are used without reading it again. */
const maxFileAgeMilliseconds = 60_000

export interface IssuerKeysOptions {
  readonly log: Logger
  readonly allowPrivateNetworks: AllowedNetworks
  /** The clock, in milliseconds, that says how old keys are. */
  readonly now?: () => number
}

/**
 * Opens the public keys of an issuer, which verify its tokens. While they cannot be read, the last ones are used.
 *
 * @returns finds the key of a token. Rejects with an error about the token if the issuer has no such key, and with
 *   another one if the keys cannot be read
 * @throws OperatorError if their file cannot be read
 */
export async function openIssuerKeys(settings: IssuerSettings, options: IssuerKeysOptions): Promise<JWTVerifyGetKey> {
  const { jwksFile: file, jwksUri } = settings
  if (file === undefined) return keysOf(createFetch(String(jwksUri), options), options, { url: jwksUri })
  const readFile = async () => readJson(file)
  const first = await usableKeys(readJson(file)).catch((error: unknown) => {
    throw new OperatorError(`TRUSTED_ISSUERS: ${file} is not a JSON Web Key Set`, { cause: error })
  })
  return keysOf(readFile, options, { file }, { maxAge: maxFileAgeMilliseconds, cooldown: minAgeMilliseconds, first })
}

function createFetch(url: string, { allowPrivateNetworks }: IssuerKeysOptions): () => Promise<unknown> {
  const dispatcher = createGuardedAgent({ timeoutMilliseconds, allowPrivateNetworks })
  const headers = { accept: 'application/json, application/jwk-set+json' }
  return async () => {
    const signal = AbortSignal.timeout(timeoutMilliseconds)
    const { status, body } = await fetch(url, { dispatcher, headers, redirect: 'manual', signal })
    const bytes = await readBytes(body, maxFileBytes)
    if (bytes === undefined) throw new Error('The keys are longer than 1 MiB')
    if (status !== 200) throw new Error(`The keys were answered with status ${status}`)
    return JSON.parse(bytes.toString())
  }
}

interface Ages {
  readonly maxAge: number
  readonly cooldown: number
  readonly first?: UsableKeys | undefined
}

/** The keys that `read` returns, read again when they are old, and for a token whose key is unknown. */
function keysOf(
  read: () => Promise<unknown>,
  { log, now }: IssuerKeysOptions,
  source: object,
  { maxAge, cooldown, first }: Ages = { maxAge: maxAgeMilliseconds, cooldown: cooldownMilliseconds },
): JWTVerifyGetKey {
  let shownUnusable = ''
  const keys = createAged(() => read().then(usableKeys).then(show, warn), {
    cooldown,
    first: first && show(first),
    now,
  })

  function show({ find, unusable }: UsableKeys): JWTVerifyGetKey {
    const names = unusable.join(', ')
    if (names !== shownUnusable && names !== '') {
      log.warn({ ...source, keys: unusable }, 'keys of a trusted issuer cannot verify a token, and are not used')
    }
    shownUnusable = names
    return find
  }

  function warn(error: unknown): never {
    log.warn({ err: error, ...source }, 'the keys of a trusted issuer could not be read')
    throw error
  }

  /** The ids of keys for which the keys were read again, and which they did not have. */
  const unknown = new LRUCache<string, true>({ max: maxUnknown })
  let waiting = 0

  return async (...token) => {
    const find = await keys.within(maxAge).catch(keys.last)
    const id = String(token[0].kid)
    try {
      if (find) return await find(...token)
    } catch (error) {
      if (keys.age() < minAgeMilliseconds && (unknown.has(id) || waiting >= maxWaiting)) throw error
    }
    waiting += 1
    try {
      // The key may have been published since the keys were read.
      const findNewer = await keys.newer(minAgeMilliseconds)
      return await findNewer(...token)
    } finally {
      waiting -= 1
      if (find) unknown.set(id, true)
    }
  }
}

/** Whether the error means that no key matches the token. */
export function isAboutToken(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys
}

interface UsableKeys {
  readonly find: JWTVerifyGetKey
  /** The ids of the others. */
  readonly unusable: readonly string[]
}

const keySet = z.looseObject({ keys: z.array(z.unknown()) })

/**
 * The keys of a set with which a signature can be verified. The others, such as a weak RSA key, a point off its curve,
 * or an entry that is no key at all, are left out: a token that names them is not valid, and those of the other keys
 * are.
 *
 * @throws ZodError if it is not a JSON Web Key Set
 */
async function usableKeys(set: unknown): Promise<UsableKeys> {
  const { keys } = keySet.parse(set)
  const areUsable = await Promise.all(keys.map(isUsable))
  const usable = keys.filter((_, index) => areUsable[index]) as JSONWebKeySet['keys']
  const unusable = keys.filter((key, index) => !areUsable[index] && isForTokens(key))
  return {
    find: createLocalJWKSet({ keys: usable }),
    unusable: unusable.map((key) => String((key as { kid?: unknown } | null)?.kid).slice(0, 100)),
  }
}

/** Whether an entry is not a key of another algorithm or for another use, such as encryption, which sets may have. */
function isForTokens(entry: unknown): boolean {
  const { kty, alg, use = 'sig' } = (entry ?? {}) as Record<string, unknown>
  const expected = new Map<unknown, string>(Object.entries(algorithms)).get(kty)
  return kty === undefined || (expected !== undefined && (alg ?? expected) === expected && use === 'sig')
}

const encode = (text: string) => Buffer.from(text).toString('base64url')

/** Tries the key with a wrong signature. */
async function isUsable(entry: unknown): Promise<boolean> {
  const { kty } = (entry ?? {}) as { kty?: keyof typeof algorithms }
  try {
    const alg = algorithms[kty as keyof typeof algorithms]
    const wrong = `${encode(JSON.stringify({ alg }))}.${encode('{}')}.${encode('no signature')}`
    const find = createLocalJWKSet({ keys: [entry] } as JSONWebKeySet)
    await compactVerify(wrong, find)
    return false
  } catch (error) {
    return error instanceof errors.JWSSignatureVerificationFailed
  }
}
