import { readFileSync } from 'node:fs'
import path from 'node:path'
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { fetch } from 'undici'
import { z } from 'zod'
import type { Database } from '../../db/database.ts'
import { isPossibleId } from '../../db/ids.ts'
import { GatewayError, OperatorError } from '../../errors.ts'
import { createGuardedAgent } from '../../network/guarded-agent.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { isScope, type Scope, userScopes } from '../scopes.ts'
import type { Viewer } from '../viewer.ts'
import { clockToleranceSeconds } from './access-tokens.ts'
import { invalidToken } from './invalid-token.ts'

/** An identity provider whose tokens the gateway accepts, for the users of one tenant. */
export interface TrustedIssuer {
  readonly issuer: string
  readonly audience: string
  /**
   * @throws JOSEError if the token is not valid; GatewayError UNAUTHENTICATED if it names no user; SERVICE_UNAVAILABLE if the issuer's
   *   keys cannot be read
   */
  verify(token: string): Promise<TrustedToken>
}

/** What a token of a trusted issuer says about its holder. */
export interface TrustedToken {
  readonly holder: Omit<Viewer, 'scopes'>
  readonly userId: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date
}

/** The configuration of an issuer, as the file of TRUSTED_ISSUERS has it. */
type IssuerSettings = z.output<typeof issuerSettings>

const word = z.string().min(1)

const scopeList = z
  .array(
    z
      .string()
      .refine((scope) => isScope(scope) && userScopes.includes(scope), `must be one of ${userScopes.join(', ')}`),
  )
  .min(1)
  .transform((list) => list.filter(isScope))

const issuerSettings = z
  .strictObject({
    issuer: word,
    audience: word,
    jwksUri: z.url({ protocol: /^https?$/ }).optional(),
    jwksFile: word.optional(),
    /** The name or the id of a tenant. */
    tenant: word,
    userIdClaim: word,
    scopes: scopeList,
  })
  .refine(
    ({ jwksUri, jwksFile }) => (jwksUri === undefined) !== (jwksFile === undefined),
    'needs jwksUri or jwksFile, not both',
  )

/**
 * Reads the file of TRUSTED_ISSUERS.
 *
 * @returns the settings; paths of files are absolute
 * @throws OperatorError naming what is wrong
 */
function readIssuerSettings(file: string): IssuerSettings[] {
  const { data, error } = z.array(issuerSettings).safeParse(readJson(file))
  if (error) {
    const reasons = error.issues.map(
      ({ path: at, message }) => `TRUSTED_ISSUERS: ${at.join('.') || 'the file'} ${message}`,
    )
    throw new OperatorError(reasons.join('\n'))
  }
  return data.map((settings) =>
    settings.jwksFile === undefined
      ? settings
      : { ...settings, jwksFile: path.resolve(path.dirname(file), settings.jwksFile) },
  )
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new OperatorError(`TRUSTED_ISSUERS: the file ${file} cannot be read: ${reason}`, { cause: error })
  }
}

/** The tenant of an issuer. */
interface IssuerTenant {
  readonly id: string
  readonly name: string
}

/**
 * Creates the verification of the issuers in the file of TRUSTED_ISSUERS.
 *
 * @throws OperatorError naming what is wrong with the file, an issuer that is the gateway itself, or a tenant that does not exist
 */
export async function openTrustedIssuers(
  { prisma }: Pick<Database, 'prisma'>,
  file: string,
  ownIssuer: string,
  options: TrustedIssuerOptions,
): Promise<TrustedIssuer[]> {
  const opened: TrustedIssuer[] = []
  for (const settings of readIssuerSettings(file)) {
    const { issuer, tenant: nameOrId, jwksUri = 'https:' } = settings
    if (issuer === ownIssuer) throw new OperatorError(`TRUSTED_ISSUERS: ${issuer} is the gateway itself (TOKEN_ISSUER)`)
    if (!jwksUri.startsWith('https:') && !options.allowPrivateNetworks) {
      throw new OperatorError(`TRUSTED_ISSUERS: ${jwksUri} must be https, unless FETCH_PRIVATE_NETWORKS=on`)
    }
    if (opened.some((other) => other.issuer === issuer && other.audience === settings.audience)) {
      throw new OperatorError(`TRUSTED_ISSUERS: ${issuer} with the audience ${settings.audience} is listed twice`)
    }
    const tenant = await prisma.tenantApp.findFirst({ where: { OR: [{ name: nameOrId }, { id: nameOrId }] } })
    if (!tenant) throw new OperatorError(`TRUSTED_ISSUERS: no tenant has the name or the id ${nameOrId}`)
    opened.push(createTrustedIssuer(settings, tenant, options))
  }
  return opened
}

export interface TrustedIssuerOptions {
  readonly log: Logger
  /** Whether the keys may be in a private network. */
  readonly allowPrivateNetworks: boolean
}

const algorithms = ['RS256', 'ES256', 'EdDSA']

/**
 * Creates the verification of an issuer's tokens.
 *
 * @throws OperatorError if its file of keys cannot be read
 */
function createTrustedIssuer(
  settings: IssuerSettings,
  tenant: IssuerTenant,
  options: TrustedIssuerOptions,
): TrustedIssuer {
  const { issuer, audience, userIdClaim, jwksFile } = settings
  const keys = jwksFile === undefined ? keysAt(new URL(String(settings.jwksUri)), options) : keysIn(jwksFile, options)
  const holder = {
    ...{ tenantAppId: tenant.id, tenantName: tenant.name },
    // Tokens of an issuer share the budget of points that a key would have.
    ...{ keyId: `${issuer} ${tenant.id}`, keyName: issuer },
  }

  const findKey: JWTVerifyGetKey = async (...token) => {
    try {
      return await keys(...token)
    } catch (error) {
      if (isAboutToken(error)) throw error
      throw new GatewayError('SERVICE_UNAVAILABLE', 'The keys of the issuer of this token cannot be read.', {
        cause: error,
      })
    }
  }

  return {
    ...{ issuer, audience },
    async verify(token) {
      const { payload } = await jwtVerify(token, findKey, {
        ...{ issuer, audience, algorithms, clockTolerance: clockToleranceSeconds, requiredClaims: ['exp'] },
      })
      const userId = payload[userIdClaim]
      if (typeof userId !== 'string' || !isPossibleId(userId)) throw invalidToken()
      return { holder, userId, scopes: scopesOf(settings, payload), expiresAt: toDate(Number(payload.exp)) }
    },
  }
}

/** The claims of scopes: that of RFC 8693, and the one of providers that follow an older draft. */
const scopeClaim = z.union([z.string().transform((words) => words.split(' ')), z.array(z.string())]).optional()

/**
 * A token that names scopes of the gateway has only those; other tokens have all that the issuer is allowed.
 *
 * @throws GatewayError UNAUTHENTICATED if the claim is neither a text nor a list of texts
 */
function scopesOf({ scopes }: IssuerSettings, { scope, scp }: JWTPayload): readonly Scope[] {
  const { data: words = [], error } = scopeClaim.safeParse(scope ?? scp)
  if (error) throw invalidToken()
  const named = words.filter(isScope)
  return named.length > 0 ? scopes.filter((one) => named.includes(one)) : scopes
}

const latest = 8.64e15

function toDate(seconds: number): Date {
  return new Date(Math.min(seconds * 1_000, latest))
}

const timeoutMilliseconds = 5_000

/** How soon a token with an unknown key reads the keys again. */
const minAgeMilliseconds = 1_000

/** How soon the keys are read again after they could not be read. */
const cooldownMilliseconds = 5_000

/** How long keys are used without reading them again. */
const maxAgeMilliseconds = 600_000

/** How long the keys of a file are used without reading it again. */
const maxFileAgeMilliseconds = 60_000

/** The keys at a URL. While they cannot be read, those that were read last are used. */
function keysAt(url: URL, { allowPrivateNetworks, log }: TrustedIssuerOptions): JWTVerifyGetKey {
  const dispatcher = createGuardedAgent({ timeoutMilliseconds, allowPrivateNetworks })
  const remote = createRemoteJWKSet(url, {
    timeoutDuration: timeoutMilliseconds,
    cooldownDuration: minAgeMilliseconds,
    cacheMaxAge: maxAgeMilliseconds,
    [customFetch]: (address, init) =>
      fetch(address, { ...(init as object), dispatcher }) as unknown as ReturnType<typeof globalThis.fetch>,
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

/** Whether there is no key for a token among those that were read. */
function isAboutToken(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys
}

/** The keys in a file. While it cannot be read, those that were read last are used. */
function keysIn(file: string, { log }: TrustedIssuerOptions): JWTVerifyGetKey {
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
