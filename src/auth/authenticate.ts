import type { Logger } from '../context.ts'
import type { Database } from '../db/database.ts'
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
const findKey = `
  SELECT k.tenant_app_id, t.name, k.id, k.name, array_to_string(k.scopes, ' '),
    coalesce(k.last_used_at < now() - interval '1 minute', true)
  FROM api_key k JOIN tenant_app t ON t.id = k.tenant_app_id
  WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`

const noteUse = `
  UPDATE api_key SET last_used_at = now()
  WHERE tenant_app_id = $1 AND id = $2 AND coalesce(last_used_at < now() - interval '1 minute', true)`

const text = { scalarType: 'string', arity: 'scalar' } as const

/** One indexed read a call. A key's last use is noted beside the request, at most once a minute. */
export function createAuthenticator({ sql }: Database, log: Logger): Authenticator {
  const notes = new Map<string, Promise<void>>()

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

  return {
    async authenticate(key) {
      if (key === undefined || !isWellFormedApiKey(key)) throw unauthenticated()
      const { rows } = await sql.queryRaw({ sql: findKey, args: [hashApiKey(key)], argTypes: [text] })
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
    },
    async settle() {
      await Promise.all(notes.values())
    },
  }
}

function unauthenticated(): GatewayError {
  return new GatewayError('UNAUTHENTICATED', 'Send a valid API key in the header x-api-key.')
}
