import type { Viewer } from '../auth/viewer.ts'

/** The holder of a key or token, whose use of the gateway is limited. */
export type Payer = Pick<Viewer, 'tenantAppId' | 'keyId' | 'userId' | 'pointsPerMinute'>

/**
 * Whose use is counted: of a tenant with all its keys and tokens, of a key with its tokens that are not bound to a user, of all users of
 * the tenant together, and of one user. A key with a limit of its own also counts its tokens for users.
 */
export type AccountKind = 'tenant' | 'key' | 'users' | 'user'

export interface Account {
  readonly kind: AccountKind
  /** Differs from the names of all other accounts. The braces keep the counts of a tenant on one server of a Redis cluster. */
  readonly name: string
}

/**
 * Returns the accounts to which the use of a payer counts, the widest first. A tenant creates keys and tokens as it likes, so limits for
 * each of them would bind nobody. Users do not count to the key that created their tokens: they must not stop the tenant's own server.
 */
export function accountsOf(payer: Payer): readonly Account[] {
  const found = known.get(payer)
  if (found) return found
  const accounts = listAccounts(payer)
  known.set(payer, accounts)
  return accounts
}

/** Each request counts its payer several times. A payer is one object for as long as its key is cached. */
const known = new WeakMap<Payer, readonly Account[]>()

function listAccounts({ tenantAppId, keyId, userId, pointsPerMinute }: Payer): readonly Account[] {
  const name = `{${tenantAppId}}`
  const tenant: Account = { kind: 'tenant', name }
  const key: Account = { kind: 'key', name: `${name} key ${keyId}` }
  if (userId === undefined) return [tenant, key]
  const users: Account = { kind: 'users', name: `${name} users` }
  const user: Account = { kind: 'user', name: `${name} user ${userId}` }
  return pointsPerMinute === undefined ? [tenant, users, user] : [tenant, users, key, user]
}
