import type { Viewer } from '../auth/viewer.ts'

/** The holder of a key or token, whose use of the gateway is limited. */
export type Payer = Pick<Viewer, 'tenantAppId' | 'keyId' | 'userId' | 'pointsPerMinute'>

/**
 * Whose use is counted: of a tenant with all its keys and tokens, of a key with its tokens that are not bound to a
 * user, of all users of the tenant together, and of one user. A key with a limit of its own also counts its tokens for
 * users.
 */
export type SubjectKind = 'tenant' | 'key' | 'users' | 'user'

export interface Subject {
  readonly kind: SubjectKind
  /**
   * Differs from the names of all other subjects. The braces keep the counts of a tenant on one server of a Redis
   * cluster.
   */
  readonly name: string
}

/**
 * Returns the subjects to which the use of a payer counts, the widest first. A tenant creates keys and tokens as it
 * likes, so limits for each of them would bind nobody. Users do not count to the key that created their tokens: they
 * must not stop the tenant's own server.
 */
export function subjectsOf(payer: Payer): readonly Subject[] {
  const found = known.get(payer)
  if (found) return found
  const subjects = listSubjects(payer)
  known.set(payer, subjects)
  return subjects
}

/** Each request counts its payer several times. A payer is one object for as long as its key is cached. */
const known = new WeakMap<Payer, readonly Subject[]>()

function listSubjects({ tenantAppId, keyId, userId, pointsPerMinute }: Payer): readonly Subject[] {
  const name = `{${tenantAppId}}`
  const tenant: Subject = { kind: 'tenant', name }
  const key: Subject = { kind: 'key', name: `${name} key ${keyId}` }
  if (userId === undefined) return [tenant, key]
  const users: Subject = { kind: 'users', name: `${name} users` }
  const user: Subject = { kind: 'user', name: `${name} user ${userId}` }
  return pointsPerMinute === undefined ? [tenant, users, user] : [tenant, users, key, user]
}
