import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose'
import { fetch } from 'undici'
import { OperatorError } from '../../errors.ts'
import { createGuardedAgent } from '../../network/guarded-agent.ts'
import type { AllowedNetworks } from '../../network/private-networks.ts'
import { readBytes } from '../../network/read-bytes.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type IssuerSettings, maxFileBytes, readJson } from './issuer-settings.ts'

const timeoutMilliseconds = 5_000

/** How old the keys must be before a token with an unknown key makes the gateway read them again. */
const minAgeMilliseconds = 1_000

/** The pause after the keys could not be read. */
const cooldownMilliseconds = 5_000

/** How long keys are used without reading them again. */
const maxAgeMilliseconds = 600_000

/** How long the keys of a file are used without reading it again. */
const maxFileAgeMilliseconds = 60_000

export interface IssuerKeysOptions {
  readonly log: Logger
  /** Whether the keys may be in a private network. */
  readonly allowPrivateNetworks: AllowedNetworks
}

/**
 * Opens the public keys of an issuer, which verify its tokens.
 *
 * @throws OperatorError if their file cannot be read
 */
export function openIssuerKeys({ jwksFile, jwksUri }: IssuerSettings, options: IssuerKeysOptions): JWTVerifyGetKey {
  return jwksFile === undefined ? keysAt(new URL(String(jwksUri)), options) : keysIn(jwksFile, options)
}

/** The keys at a URL. While they cannot be read, the last ones are used. */
function keysAt(url: URL, { allowPrivateNetworks, log }: IssuerKeysOptions): JWTVerifyGetKey {
  const dispatcher = createGuardedAgent({ timeoutMilliseconds, allowPrivateNetworks })
  const remote = createRemoteJWKSet(url, {
    timeoutDuration: timeoutMilliseconds,
    cooldownDuration: minAgeMilliseconds,
    cacheMaxAge: maxAgeMilliseconds,
    async [customFetch](address, init) {
      const { status, body } = await fetch(address, { ...(init as object), dispatcher })
      const bytes = await readBytes(body, maxFileBytes)
      if (bytes === undefined) throw new Error('The keys are longer than 1 MiB')
      return new Response(bytes.toString(), { status })
    },
  })
  let failure: unknown
  let failedAt = Number.NEGATIVE_INFINITY

  return async (...token) => {
    const isCoolingDown = performance.now() - failedAt < cooldownMilliseconds
    try {
      if (!isCoolingDown) return await remote(...token)
    } catch (error) {
      if (isAboutToken(error)) throw error
      ;[failure, failedAt] = [error, performance.now()]
      log.warn({ err: error, url: url.href }, 'the keys of a trusted issuer could not be read')
    }
    const last = remote.jwks()
    if (last) return createLocalJWKSet(last)(...token)
    throw failure
  }
}

/** Whether the error means that no key matches the token. */
export function isAboutToken(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys
}

/** The keys in a file. While it cannot be read, the last ones are used. */
function keysIn(file: string, { log }: IssuerKeysOptions): JWTVerifyGetKey {
  let keys = readKeys(file)
  let readAt = performance.now()

  function readIfOlder(maxAge: number): JWTVerifyGetKey {
    if (performance.now() - readAt < maxAge) return keys
    readAt = performance.now()
    try {
      keys = readKeys(file)
    } catch (error) {
      log.warn({ err: error }, 'the keys of a trusted issuer could not be read')
    }
    return keys
  }

  return async (...token) => {
    try {
      return await readIfOlder(maxFileAgeMilliseconds)(...token)
    } catch (error) {
      if (!isAboutToken(error)) throw error
      return readIfOlder(minAgeMilliseconds)(...token)
    }
  }
}

function readKeys(file: string): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(readJson(file) as JSONWebKeySet)
  } catch (error) {
    throw error instanceof errors.JOSEError
      ? new OperatorError(`TRUSTED_ISSUERS: ${file} is not a JSON Web Key Set`, { cause: error })
      : error
  }
}
