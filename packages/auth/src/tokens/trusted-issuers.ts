import { GatewayError, OperatorError, ownValue, type Scope } from '@fusion-gateway/base'
import type { Database, TenantApp } from '@fusion-gateway/database'
import { isPossibleId } from '@fusion-gateway/sql'
import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { z } from 'zod'
import type { Viewer } from '../viewer.ts'
import { clockToleranceSeconds, invalidToken } from './access-tokens.ts'
import { algorithms, type IssuerKeysOptions, isAboutToken, openIssuerKeys } from './issuer-keys.ts'
import { type IssuerSettings, readIssuerSettings } from './issuer-settings.ts'

/** An identity provider whose tokens the gateway accepts, for the users of one tenant. */
export type TrustedIssuer = Awaited<ReturnType<typeof createTrustedIssuer>>

/**
 * @param options.userScopes the scopes that tokens for users can have
 * @throws OperatorError naming what is wrong with the file, an issuer that is the gateway itself, or a tenant that does
 *   not exist
 */
export async function openTrustedIssuers(
  { prisma }: Pick<Database, 'prisma'>,
  file: string,
  ownIssuer: string,
  { userScopes, ...options }: IssuerKeysOptions & { readonly userScopes: readonly Scope[] },
): Promise<TrustedIssuer[]> {
  const opened: TrustedIssuer[] = []
  for (const settings of readIssuerSettings(file, userScopes)) {
    const { issuer, tenant: nameOrId, jwksUri = 'https:' } = settings
    if (issuer === ownIssuer) throw new OperatorError(`TRUSTED_ISSUERS: ${issuer} is the gateway itself (TOKEN_ISSUER)`)
    if (!jwksUri.startsWith('https:') && options.allowPrivateNetworks !== true) {
      throw new OperatorError(`TRUSTED_ISSUERS: ${jwksUri} must be https, unless FETCH_PRIVATE_NETWORKS=on`)
    }
    if (opened.some((other) => other.issuer === issuer && other.audience === settings.audience)) {
      throw new OperatorError(`TRUSTED_ISSUERS: ${issuer} with the audience ${settings.audience} is listed twice`)
    }
    const tenant = await prisma.tenantApp.findFirst({ where: { OR: [{ name: nameOrId }, { id: nameOrId }] } })
    if (!tenant) throw new OperatorError(`TRUSTED_ISSUERS: no tenant has the name or the id ${nameOrId}`)
    opened.push(await createTrustedIssuer(settings, tenant, options))
  }
  return opened
}

/** The types of a JWT (RFC 7519), which ID tokens have too, and of an access token (RFC 9068). */
const types = /^(application\/)?(at\+)?jwt$/i

/** @throws OperatorError if its file of keys cannot be read */
async function createTrustedIssuer(settings: IssuerSettings, tenant: TenantApp, options: IssuerKeysOptions) {
  const { issuer, audience, userIdClaim } = settings
  const keys = await openIssuerKeys(settings, options)
  const holder: Omit<Viewer, 'scopes'> = {
    tenantAppId: tenant.id,
    tenantName: tenant.name,
    // The name of the issuer stands for the key that other tokens have.
    keyId: `${issuer} ${tenant.id}`,
    keyName: issuer,
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
    issuer,
    audience,
    /**
     * @throws JOSEError if the token is not valid; GatewayError UNAUTHENTICATED if it names no user;
     *   SERVICE_UNAVAILABLE if the issuer's keys cannot be read
     */
    async verify(token: string) {
      const { payload, protectedHeader } = await jwtVerify(token, findKey, {
        issuer,
        audience,
        algorithms: Object.values(algorithms),
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['exp'],
      })
      const userId = ownValue(payload, userIdClaim)
      if (typeof userId !== 'string' || !isPossibleId(userId)) throw invalidToken()
      const { typ = 'JWT' } = protectedHeader
      if (!types.test(typ) || lifetimeOf(payload) > settings.maxLifetimeSeconds) throw invalidToken()
      return { holder, userId, scopes: scopesOf(settings, payload), expiresAt: new Date(Number(payload.exp) * 1_000) }
    },
  }
}

/** In seconds, and from now if the token does not say when it was issued, or names a later time. */
function lifetimeOf({ exp, iat = Number.POSITIVE_INFINITY }: JWTPayload): number {
  return Number(exp) - Math.min(iat, Date.now() / 1_000 + clockToleranceSeconds)
}

/** The claim of scopes: `scope` as in RFC 8693, or `scp` of providers that follow an older draft. */
const scopeClaim = z.union([z.string().transform((words) => words.split(' ')), z.array(z.string())]).optional()

/**
 * A token has the scopes that it names, as far as its issuer can grant them. It can have none: then it is valid, and
 * FORBIDDEN to read anything (RFC 6750: `insufficient_scope`). A client that got 401 would renew it again and again.
 *
 * @throws GatewayError UNAUTHENTICATED if the claim is neither a text nor a list of texts
 */
function scopesOf({ scopes, defaultScopes }: IssuerSettings, { scope, scp }: JWTPayload): readonly Scope[] {
  const { data: words, error } = scopeClaim.safeParse(scope === undefined ? scp : scope)
  if (error) throw invalidToken()
  return words ? scopes.filter((one) => words.includes(one)) : defaultScopes
}
