import type { Logger } from '../context.ts'
import type { Database } from '../db/database.ts'
import { repeated } from '../db/named-statements.ts'
import { GatewayError } from '../errors.ts'
import { hashApiKey, isWellFormedApiKey } from './api-key.ts'
import type { Viewer } from './viewer.ts'

/** Finds out who presents a key. */
export interface Authenticator {
  /**
   * @param key the value of the header `x-api-key`
   * @throws GatewayError UNAUTHENTICATED, the same for a missing, malformed, unknown, revoked and expired key
   */
  authenticate(key: string | undefined): Promise<Viewer>
  /** Resolves when no note of a key's use is being written any more. */
  settle(): Promise<void>
}

// The times are compared by the database, whose clock all gateways share.
const findKey = repeated(
  `
  SELECT k.tenant_app_id, t.name, k.id, k.name, array_to_string(k.scopes, ' '),
    coalesce(k.last_used_at < now() - interval '1 minute', true)
  FROM api_key k JOIN tenant_app t ON t.id = k.tenant_app_id
  WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
  { isShort: true },
)

const noteUse = `
  UPDATE api_key SET last_used_at = now()
  WHERE tenant_app_id = $1 AND id = $2 AND coalesce(last_used_at < now() - interval '1 minute', true)`

const text = { scalarType: 'string', arity: 'scalar' } as const

/** How many keys are remembered at most. */
const maxRemembered = 10_000

interface Remembered {
  readonly viewer: Promise<Viewer>
  readonly until: number
}

/**
 * One indexed read a key every few seconds. A key's last use is noted beside the request, at most once a minute.
 *
 * @param rememberMilliseconds how long a key that was found is taken to be good: so much later, at most, is its revocation
 *   known
 */
export function createAuthenticator({ sql }: Database, log: Logger, rememberMilliseconds: number): Authenticator {
  const notes = new Map<string, Promise<void>>()
  const remembered = new Map<string, Remembered>()

  function note({ tenantAppId, keyId }: Viewer): void {
    if (notes.has(keyId)) return
    const writing = sql.executeRaw({ sql: noteUse, args: [tenantAppId, keyId], argTypes: [text, text] }).then(
      () => undefined,
      (error: unknown) => log.warn({ err: error }, "could not note a key's last use"),
    )
    notes.set(
      keyId,
      writing.finally(() => notes.delete(keyId)),
    )
  }

  async function find(hash: string): Promise<Viewer> {
    const { rows } = await sql.queryRaw({ sql: findKey, args: [hash], argTypes: [text] })
    const row = rows[0]
    if (!row) throw unauthenticated()
    const [tenantAppId, tenantName, keyId, keyName, scopes, isUseNewsworthy] = row
    const viewer: Viewer = {
      tenantAppId: String(tenantAppId),
      tenantName: String(tenantName),
      keyId: String(keyId),
      keyName: String(keyName),
      scopes: String(scopes).split(' ').filter(Boolean),
    }
    if (isUseNewsworthy) note(viewer)
    return viewer
  }

  /** Only keys that are there: nobody can fill the memory with others. */
  function remember(hash: string, viewer: Promise<Viewer>): void {
    // The oldest goes first: a map keeps the order in which its keys came.
    remembered.delete(hash)
    if (remembered.size >= maxRemembered) remembered.delete(remembered.keys().next().value ?? '')
    remembered.set(hash, { viewer, until: performance.now() + rememberMilliseconds })
    viewer.catch(() => remembered.delete(hash))
  }

  return {
    async authenticate(key) {
      if (key === undefined || !isWellFormedApiKey(key)) throw unauthenticated()
      const hash = hashApiKey(key)
      const known = remembered.get(hash)
      if (known && performance.now() < known.until) return known.viewer
      const viewer = find(hash)
      remember(hash, viewer)
      return viewer
    },
    async settle() {
      await Promise.all(notes.values())
    },
  }
}

function unauthenticated(): GatewayError {
  return new GatewayError('UNAUTHENTICATED', 'Send a valid API key in the header x-api-key.')
}
