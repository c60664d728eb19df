import { hash } from 'node:crypto'
import type { Viewer } from '../auth/viewer.ts'
import type { Database } from '../db/database.ts'
import { repeated } from '../db/named-statements.ts'
import { GatewayError } from '../errors.ts'

/** What is to be done once, however often it is asked. */
export interface Asked {
  readonly viewer: Viewer
  /** The caller's own name for it. */
  readonly idempotencyKey: string
  /** What was asked, as text: with the same key it must be the same. */
  readonly request: string
}

/** The answer, and whether it was given before. */
export interface Once<Answer> {
  readonly answer: Answer
  readonly isReplay: boolean
}

/** Does what is asked once. @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/ */
export interface Idempotency {
  /**
   * Runs work, unless it was run for the same key in the last 24 hours: its answer is written in the transaction of its
   * effect, so that there is never the one without the other, whenever the process dies.
   *
   * @param work may be run again when another transaction was in its way. Its answer must be JSON
   * @param isFinal whether an answer is one to give again; what has led to another is undone
   * @throws GatewayError IDEMPOTENCY_KEY_IN_USE while the first still runs; IDEMPOTENCY_KEY_REUSED when something else was
   *   asked with the key
   */
  once<Answer>(asked: Asked, work: () => Promise<Answer>, isFinal: (answer: Answer) => boolean): Promise<Once<Answer>>
}

const text = { scalarType: 'string', arity: 'scalar' } as const

// Held until the transaction ends, however it ends. Nobody waits for it.
const lock = repeated(`SELECT pg_try_advisory_xact_lock(hashtextextended($1, 4070226))`)

const find = repeated(`
  SELECT fingerprint, answer FROM idempotent_answer
  WHERE tenant_app_id = $1 AND id = $2 AND created_at > now() - interval '24 hours'`)

const keep = repeated(`
  INSERT INTO idempotent_answer (tenant_app_id, id, fingerprint, answer) VALUES ($1, $2, $3, $4)
  ON CONFLICT (tenant_app_id, id) DO UPDATE SET fingerprint = $3, answer = $4, created_at = now()`)

const removeOld = `
  DELETE FROM idempotent_answer WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotent_answer WHERE created_at < now() - interval '24 hours' LIMIT 500))
    AND created_at < now() - interval '24 hours'`

/** The idempotency of a migrated database. */
export function createIdempotency({ sql, driver }: Database): Idempotency {
  /** Those that run in this process: the embedded database has one session, whose locks never refuse each other. */
  const running = new Set<string>()

  async function query(statement: string, args: string[]) {
    const { rows } = await sql.queryRaw({ sql: statement, args, argTypes: args.map(() => text) })
    return rows[0]
  }

  return {
    async once(asked, work, isFinal) {
      const { tenantAppId, keyId } = asked.viewer
      const id = sha256(`${keyId}\n${asked.idempotencyKey}`)
      const fingerprint = sha256(asked.request)
      const name = `${tenantAppId}/${id}`
      if (running.has(name)) throw inUse()
      running.add(name)
      let notFinal: { answer: Awaited<ReturnType<typeof work>> } | undefined
      try {
        return await driver.transactions.transact(async () => {
          notFinal = undefined
          if ((await query(lock, [name]))?.[0] !== true) throw inUse()
          const [askedBefore, answered] = (await query(find, [tenantAppId, id])) ?? []
          if (askedBefore !== undefined && askedBefore !== fingerprint) throw reused()
          if (answered !== undefined) return { answer: JSON.parse(String(answered)), isReplay: true }
          const answer = await work()
          if (!isFinal(answer)) {
            notFinal = { answer }
            throw new Error('The answer is not final')
          }
          await query(keep, [tenantAppId, id, fingerprint, JSON.stringify(answer)])
          return { answer, isReplay: false }
        })
      } catch (error) {
        if (notFinal) return { ...notFinal, isReplay: false }
        throw error
      } finally {
        running.delete(name)
      }
    },
  }
}

/** Removes answers whose time is over, in batches. */
export async function removeOldAnswers({ sql }: Pick<Database, 'sql'>): Promise<void> {
  while ((await sql.executeRaw({ sql: removeOld, args: [], argTypes: [] })) > 0);
}

function sha256(value: string): string {
  return hash('sha256', value)
}

function inUse(): GatewayError {
  return new GatewayError('IDEMPOTENCY_KEY_IN_USE', 'The first request with this idempotency key is still running.')
}

function reused(): GatewayError {
  return new GatewayError(
    'IDEMPOTENCY_KEY_REUSED',
    'The idempotency key came with another request before. Use a new key for each.',
  )
}
