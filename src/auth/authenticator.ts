import { LRUCache } from 'lru-cache'
import type { Database } from '../db/database.ts'
import { execute, query, statement } from '../db/statement.ts'
import { GatewayError } from '../errors.ts'
import type { Logger } from '../telemetry/logger.ts'
import { hashApiKey, isWellFormedApiKey } from './api-key.ts'
import type { Viewer } from './viewer.ts'

/** Finds the holder of an API key. */
export interface Authenticator {
  /**
   * @param key the header `x-api-key`
   * @throws GatewayError UNAUTHENTICATED, the same for a missing, malformed, unknown, revoked and expired key
   */
  authenticate(key: string | undefined): Promise<Viewer>
  /** Resolves when no time of last use is being written. */
  settle(): Promise<void>
}

// The database compares the times, because all gateways share its clock.
const findKey = statement(
  `
  SELECT k.tenant_app_id, t.name, k.id, k.name, array_to_string(k.scopes, ' '),
    coalesce(k.last_used_at < now() - interval '1 minute', true)
  FROM api_key k JOIN tenant_app t ON t.id = k.tenant_app_id
  WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
  { isShortRead: true },
)

const updateLastUse = statement(`
  UPDATE api_key SET last_used_at = now()
  WHERE tenant_app_id = $1 AND id = $2 AND coalesce(last_used_at < now() - interval '1 minute', true)`)

const maxCached = 10_000

/**
 * Creates the authenticator. It reads each key once in a few seconds, and updates a key's time of last use at most once a
 * minute, without delaying the request.
 *
 * @param cacheMilliseconds how long a key is cached, so how late a revocation can take effect; 0: not at all
 */
export function createAuthenticator(
  { sql }: Pick<Database, 'sql'>,
  log: Logger,
  cacheMilliseconds: number,
): Authenticator {
  const updates = new Map<string, Promise<void>>()
  // Only valid keys stay, so callers cannot fill the cache with others.
  const cache = new LRUCache<string, Promise<Viewer>>({
    max: maxCached,
    ttl: Math.max(1, cacheMilliseconds),
    ttlResolution: 0,
  })

  function update({ tenantAppId, keyId }: Viewer): void {
    if (updates.has(keyId)) return
    const writing = execute(sql, updateLastUse, [tenantAppId, keyId]).then(
      () => undefined,
      (error: unknown) => log.warn({ err: error }, "a key's time of last use could not be updated"),
    )
    updates.set(
      keyId,
      writing.finally(() => updates.delete(keyId)),
    )
  }

  async function find(hash: string): Promise<Viewer> {
    const [row] = await query(sql, findKey, [hash])
    if (!row) throw unauthenticated()
    const [tenantAppId, tenantName, keyId, keyName, scopes, isLastUseOld] = row
    const viewer: Viewer = {
      tenantAppId: String(tenantAppId),
      tenantName: String(tenantName),
      keyId: String(keyId),
      keyName: String(keyName),
      scopes: String(scopes).split(' ').filter(Boolean),
    }
    if (isLastUseOld) update(viewer)
    return viewer
  }

  return {
    async authenticate(key) {
      if (key === undefined || !isWellFormedApiKey(key)) throw unauthenticated()
      const hash = hashApiKey(key)
      const cached = cacheMilliseconds > 0 ? cache.get(hash) : undefined
      if (cached) return cached
      const viewer = find(hash)
      cache.set(hash, viewer)
      viewer.catch(() => cache.delete(hash))
      return viewer
    },
    async settle() {
      await Promise.all(updates.values())
    },
  }
}

function unauthenticated(): GatewayError {
  return new GatewayError('UNAUTHENTICATED', 'Send a valid API key in the header x-api-key.')
}
