import { RequestError } from './errors.ts'

/**
 * Names the person whose token this is, and what the person may see. Undefined: a token that is no JWT.
 *
 * The `sub` of a token without a user is the API key that created it. Keys are replaced while the person stays.
 */
export function personOf(token: string | undefined): string | undefined {
  const [, payload = ''] = token?.split('.') ?? []
  try {
    const claims = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
    const { iss, tenant_app_id: tenant, sub, client_id: key, scope } = claims as Readonly<Record<string, unknown>>
    return JSON.stringify([iss, tenant, sub === key ? null : sub, scope])
  } catch {
    return undefined
  }
}

/** Why something ends that another person has begun. */
export const personChanged = (): RequestError =>
  new RequestError([
    {
      message: 'The person who asked for this has signed out, or another one has signed in. It is not sent again.',
      extensions: { code: 'PERSON_CHANGED' },
    },
  ])
