import { hash } from 'node:crypto'
import { holderOf, type Viewer } from '@fusion-gateway/auth'
import { GatewayError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { removeOlder, type Sql, statement } from '@fusion-gateway/sql'

/** A request that is executed once, however often it is sent. */
interface IdempotentRequest {
  readonly viewer: Viewer
  readonly idempotencyKey: string
  /** The request as text. Requests with the same key must be equal. */
  readonly request: string
}

export type Idempotency = ReturnType<typeof createIdempotency>

// Held until the end of the transaction. A second request is rejected and does not wait. Gateways may be connected to
// several servers of a distributed database: the search for the response makes Citus lock where the tenant's rows are.
const lock = statement(`
  SELECT pg_try_advisory_xact_lock(hashtextextended($1 || '/' || $2, 4070226))
  FROM (SELECT count(*) FROM idempotent_answer WHERE tenant_app_id = $1 AND id = $2) AS routed`)

const find = statement(`
  SELECT fingerprint, answer FROM idempotent_answer
  WHERE tenant_app_id = $1 AND id = $2 AND created_at > now() - interval '24 hours'`)

const store = statement(`
  INSERT INTO idempotent_answer (tenant_app_id, id, fingerprint, answer) VALUES ($1, $2, $3, $4)
  ON CONFLICT (tenant_app_id, id) DO UPDATE SET
    fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = node_now(idempotent_answer.tenant_app_id)`)

/**
 * Creates the idempotency of a migrated database.
 *
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
export function createIdempotency() {
  /** The requests of this process. The embedded database has one session, whose locks never exclude each other. */
  const running = new Set<string>()

  return {
    /**
     * Runs work, unless it ran for the same key in the last 24 hours. The response is stored in the transaction of its
     * effect, so one never exists without the other, whenever the process ends.
     *
     * @param sql sends the statements of the request
     * @param work may run again after a conflict with another transaction. Its response must be JSON
     * @param isFinal whether to store a response. The effects of other responses are rolled back
     * @returns the response, and whether it is the stored response of an earlier request
     * @throws GatewayError IDEMPOTENCY_KEY_IN_USE while the first request runs; IDEMPOTENCY_KEY_REUSED if another
     *   request was sent with the key, or its response was erased
     */
    async runOnce<Result>(
      sql: Sql,
      { viewer, idempotencyKey, request }: IdempotentRequest,
      work: (transaction: Sql) => Promise<Result>,
      isFinal: (response: Result) => boolean,
    ) {
      const { tenantAppId } = viewer
      const id = hash('sha256', `${holderOf(viewer)}\n${idempotencyKey}`)
      const fingerprint = hash('sha256', request)
      const name = `${tenantAppId}/${id}`
      if (running.has(name)) throw keyInUse()
      running.add(name)
      try {
        return await sql.transact(async (transaction) => {
          const [locked] = await transaction.query(lock, [tenantAppId, id])
          if (locked?.[0] !== true) throw keyInUse()
          const [[storedFingerprint, stored] = []] = await transaction.query(find, [tenantAppId, id])
          if (stored === erased) throw responseErased()
          if (storedFingerprint !== undefined && storedFingerprint !== fingerprint) throw keyReused()
          if (stored !== undefined) return { response: JSON.parse(String(stored)) as Result, isReplay: true }
          const response = await work(transaction)
          if (isFinal(response))
            await transaction.execute(store, [tenantAppId, id, fingerprint, JSON.stringify(response)])
          else transaction.undo()
          return { response, isReplay: false }
        })
      } finally {
        running.delete(name)
      }
    },
  }
}

/** What is stored instead of an erased response, and of its fingerprint: version 0.1.0 takes it for another request. */
const erased = ''

/** Removes responses that are older than 24 hours, in batches. */
export async function removeExpiredResponses({ sql }: Pick<Database, 'sql'>): Promise<void> {
  await removeOlder(sql, { table: 'idempotent_answer', column: 'created_at', age: '24 hours' })
}

function keyInUse(): GatewayError {
  return new GatewayError('IDEMPOTENCY_KEY_IN_USE', 'The first request with this idempotency key is still running.')
}

function keyReused(): GatewayError {
  return new GatewayError(
    'IDEMPOTENCY_KEY_REUSED',
    'Another request was sent with this idempotency key. Use a new key for each request.',
  )
}

function responseErased(): GatewayError {
  return new GatewayError(
    'IDEMPOTENCY_KEY_REUSED',
    'The response to this idempotency key named a user who was deleted, and was erased. Use a new key for a new request.',
  )
}
