import { LRUCache } from 'lru-cache'
import type { Database } from '../db/database.ts'
import { execute, query, type Statement, statement } from '../db/statement.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Viewer } from './viewer.ts'

export type ValidKeys = ReturnType<typeof createValidKeys>

// The database compares the times, because all gateways share its clock.
const findKey = (condition: string) =>
  statement(
    `
  SELECT k.tenant_app_id, t.name, k.id, k.name, array_to_string(k.scopes, ' '), k.expires_at, k.points_per_minute,
    coalesce(k.last_used_at < now() - interval '1 minute', true)
  FROM api_key k JOIN tenant_app t ON t.id = k.tenant_app_id
  WHERE ${condition} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
    { isShortRead: true },
  )

const findByHash = findKey('k.hash = $1')
const findById = findKey('k.tenant_app_id = $1 AND k.id = $2')

const updateLastUse = statement(`
  UPDATE api_key SET last_used_at = now()
  WHERE tenant_app_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`)

const maxCached = 10_000

/**
 * Reads the keys that are valid now. Each is read once in a few seconds, and its time of last use is updated at most
 * once a minute, without delaying the request.
 *
 * @param cacheMilliseconds how long a key is cached, so how late a revocation can take effect; 0: not at all
 */
export function createValidKeys({ sql }: Pick<Database, 'sql'>, log: Logger, cacheMilliseconds: number) {
  const updates = new Map<string, Promise<void>>()
  // Only valid keys stay, so callers cannot fill the cache with others.
  const cache = new LRUCache<string, Promise<Viewer | undefined>>({
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

  async function read(sent: Statement, parameters: readonly string[]): Promise<Viewer | undefined> {
    const [row] = await query(sql, sent, parameters)
    if (!row) return undefined
    const [tenantAppId, tenantName, keyId, keyName, scopes, expiresAt, pointsPerMinute, isLastUseOld] = row
    const viewer: Viewer = {
      tenantAppId: String(tenantAppId),
      tenantName: String(tenantName),
      keyId: String(keyId),
      keyName: String(keyName),
      scopes: String(scopes).split(' ').filter(Boolean),
      expiresAt: expiresAt === null ? undefined : new Date(String(expiresAt)),
      pointsPerMinute: pointsPerMinute === null ? undefined : Number(pointsPerMinute),
    }
    if (isLastUseOld) update(viewer)
    return viewer
  }

  async function find(sent: Statement, parameters: readonly string[]): Promise<Viewer | undefined> {
    const name = parameters.join(' ')
    const cached = cacheMilliseconds > 0 ? cache.get(name) : undefined
    if (cached) return cached
    const found = read(sent, parameters)
    cache.set(name, found)
    const forget = () => cache.delete(name)
    found.then((viewer) => viewer ?? forget(), forget)
    return found
  }

  return {
    byHash: (hash: string) => find(findByHash, [hash]),
    byId: (tenantAppId: string, id: string) => find(findById, [tenantAppId, id]),
    /** Resolves when no time of last use is being written. */
    async settle(): Promise<void> {
      await Promise.all(updates.values())
    },
  }
}
