import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { GatewayError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { isServerLost, type Parameter, type Sql, type Statement, statement, write } from '@fusion-gateway/sql'
import type { Logger } from '@fusion-gateway/telemetry'
import { LRUCache } from 'lru-cache'
import type { Viewer } from './viewer.ts'

export const keyPrefix = 'fus_'
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43
const checksumLength = 6
const pattern = new RegExp(`^${keyPrefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)

/**
 * Generates a key: `fus_`, 32 random bytes in base62 (43 characters), and the CRC-32 of both in base62 (6 characters).
 * With the prefix a scanner finds leaked keys, and with the checksum the gateway rejects mistyped keys without a
 * statement.
 */
export function generateApiKey(): string {
  const body = keyPrefix + toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  return body + checksum(body)
}

/** Whether the text has the alphabet, the length and the checksum of a key. */
export function isWellFormedApiKey(text: string): boolean {
  return pattern.test(text) && text.endsWith(checksum(text.slice(0, -checksumLength)))
}

/** The SHA-256 of a key in hexadecimal, which the database stores. A key has 256 random bits, so it needs no salt. */
export function hashApiKey(key: string): string {
  return hash('sha256', key)
}

/** Counted with numbers, which are faster than a bigint: each request has a key. */
function checksum(body: string): string {
  let text = ''
  for (let rest = crc32(body); rest > 0; rest = Math.floor(rest / 62)) text = digits[rest % 62] + text
  return text.padStart(checksumLength, '0')
}

function toBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text.padStart(length, '0')
}

function tenantSuspended(): GatewayError {
  return new GatewayError('TENANT_SUSPENDED', 'The tenant is suspended. The operator of the gateway can resume it.')
}

export type ValidKeys = ReturnType<typeof createValidKeys>

// The database compares the times, because all gateways share its clock.
const findKey = (condition: string) =>
  statement(
    `
  SELECT k.hash, k.tenant_app_id, t.name, k.id, k.name, array_to_string(k.scopes, ' '), k.expires_at, k.points_per_minute,
    coalesce(k.last_used_at < now() - interval '1 minute', true), t.suspended_at IS NOT NULL
  FROM api_key k JOIN tenant_app t ON t.id = k.tenant_app_id
  WHERE ${condition} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
    { isShortRead: true },
  )

const findByHashes = findKey('k.hash = ANY ($1::text[])')
const findById = findKey('k.tenant_app_id = $1 AND k.id = $2')
const findTenant = statement('SELECT suspended_at IS NOT NULL FROM tenant_app WHERE id = $1', { isShortRead: true })

const updateLastUse = write(`
  UPDATE api_key SET last_used_at = now()
  WHERE tenant_app_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`)

const maxCached = 10_000

/** How long an unknown hash is remembered. A key that is new has not been looked up before, so it works at once. */
const unknownMilliseconds = 1_000

/** How many statements look for unknown hashes at a time, and for how many each: anyone can send such keys. */
const maxLookups = 2
const maxHashes = 100

const suspended = 'suspended'

/** A viewer whose credential is valid, or the same of a tenant that is suspended. */
type Found = Viewer | typeof suspended

/** A hash that waits to be looked up, for a request. */
interface Lookup {
  readonly sql: Sql
  readonly hash: string
  resolve(row: readonly unknown[] | undefined): void
  reject(error: unknown): void
}

/**
 * Reads the keys that are valid now. Each is read once in a few seconds, and its time of last use is updated at most
 * once a minute, without delaying the request.
 *
 * The functions that it returns reject with TENANT_SUSPENDED if the key is valid, and its tenant is suspended.
 *
 * @param cacheMilliseconds how long a key is cached, so how late a revocation or a suspension can take effect; 0: not
 *   at all
 */
export function createValidKeys({ sql }: Pick<Database, 'sql'>, log: Logger, cacheMilliseconds: number) {
  const uses = createUses(sql, log)
  const lookUp = createLookups(sql)
  // Only valid keys stay, so callers cannot fill the cache with others.
  const cache = new LRUCache<string, Promise<Found | undefined>>({
    max: maxCached,
    ttl: Math.max(1, cacheMilliseconds),
    ttlResolution: 0,
  })
  const unknown = new LRUCache<string, true>({ max: maxCached, ttl: unknownMilliseconds, ttlResolution: 0 })

  function toFound([, ...row]: readonly unknown[]): Found {
    const [tenantAppId, tenantName, keyId, keyName, scopes, expiresAt, pointsPerMinute, isLastUseOld, isSuspended] = row
    if (isSuspended) return suspended
    const viewer: Viewer = {
      tenantAppId: String(tenantAppId),
      tenantName: String(tenantName),
      keyId: String(keyId),
      keyName: String(keyName),
      scopes: String(scopes).split(' ').filter(Boolean),
      expiresAt: expiresAt === null ? undefined : new Date(String(expiresAt)),
      pointsPerMinute: pointsPerMinute === null ? undefined : Number(pointsPerMinute),
    }
    if (isLastUseOld) uses.note(viewer)
    return viewer
  }

  async function readById(sql: Sql, tenantAppId: string, id: string): Promise<Found | undefined> {
    const [row] = await queryAgain(sql, findById, [tenantAppId, id])
    return row && toFound(row)
  }

  async function readHolder(sql: Sql, holder: Omit<Viewer, 'scopes'>): Promise<Found | undefined> {
    const [row] = await queryAgain(sql, findTenant, [holder.tenantAppId])
    return row && (row[0] ? suspended : { ...holder, scopes: [] })
  }

  async function readByHash(sql: Sql, hash: string): Promise<Found | undefined> {
    if (unknown.has(hash)) return undefined
    const row = await lookUp(sql, hash)
    if (row) return toFound(row)
    if (cacheMilliseconds > 0) unknown.set(hash, true)
    return undefined
  }

  function readOnce(name: string, read: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const cached = cacheMilliseconds > 0 ? cache.get(name) : undefined
    if (cached) return cached
    const reading = read()
    cache.set(name, reading)
    const forget = () => cache.delete(name)
    reading.then((found) => found ?? forget(), forget)
    return reading
  }

  async function find(name: string, read: () => Promise<Found | undefined>): Promise<Viewer | undefined> {
    const found = await readOnce(name, read)
    if (found === suspended) throw tenantSuspended()
    return found
  }

  return {
    byHash: (sql: Sql, hash: string) => find(hash, () => readByHash(sql, hash)),
    byId: (sql: Sql, tenantAppId: string, id: string) =>
      find(`${tenantAppId} ${id}`, () => readById(sql, tenantAppId, id)),
    /** The holder of the tokens of a trusted issuer, whose `keyId` no key has, if its tenant exists. */
    ofIssuer: (sql: Sql, holder: Omit<Viewer, 'scopes'>) => find(holder.keyId, () => readHolder(sql, holder)),
    settle: uses.settle,
  }
}

/** Writes when keys were last used. */
function createUses(sql: Sql, log: Logger) {
  const updates = new Map<string, Promise<unknown>>()
  return {
    note({ tenantAppId, keyId }: Viewer): void {
      // Each node of a distributed database has all keys. One that hangs would keep the connection of this statement.
      if (updates.has(keyId) || !sql.allAnswer) return
      const writing = sql
        .execute(updateLastUse, [tenantAppId, keyId])
        .catch((error: unknown) => log.warn({ err: error }, "a key's time of last use could not be updated"))
        .finally(() => updates.delete(keyId))
      updates.set(keyId, writing)
    },
    /** Resolves when no time of last use is being written. */
    async settle(): Promise<void> {
      await Promise.all(updates.values())
    },
  }
}

/** Returns the function that finds the row of a hash, those of several requests with one statement. */
function createLookups(sql: Sql) {
  const waiting: Lookup[] = []
  let lookups = 0

  async function send(): Promise<void> {
    lookups += 1
    const sent = waiting.splice(0, maxHashes)
    try {
      const rows = await queryAgain(sent[0]?.sql ?? sql, findByHashes, [sent.map(({ hash }) => hash)])
      const found = new Map(rows.map((row) => [row[0], row]))
      for (const { hash, resolve } of sent) resolve(found.get(hash))
    } catch (error) {
      for (const { reject } of sent) reject(error)
    } finally {
      lookups -= 1
      if (waiting.length > 0) void send()
    }
  }

  return (sql: Sql, hash: string) =>
    new Promise<readonly unknown[] | undefined>((resolve, reject) => {
      waiting.push({ sql, hash, resolve, reject })
      if (lookups < maxLookups) void send()
    })
}

/** Sends a read, and once more if it fails: many requests can wait for it, and one failure must not fail them all. */
async function queryAgain(sql: Sql, sent: Statement, parameters: readonly Parameter[]): Promise<unknown[][]> {
  try {
    return await sql.query(sent, parameters)
  } catch (error) {
    if (isServerLost(error)) throw error
    return sql.query(sent, parameters)
  }
}
