import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import type { Driver } from './driver.ts'
import { connectToShadowDatabase } from './embedded.ts'
import { observeAdapters, type StatementObserver } from './observed-adapter.ts'

export interface PostgresqlOptions {
  readonly observe: StatementObserver
  /** Told of a connection that broke while nobody used it. */
  readonly onIdleError: (error: Error) => void
}

/**
 * Opens a pool to a PostgreSQL server. Nothing is sent until the first statement.
 *
 * @param url `postgresql://user:password@host:port/database`
 */
export function openPostgresql(url: string, { observe, onIdleError }: PostgresqlOptions): Driver {
  const settings: pg.PoolConfig = {
    connectionString: url,
    application_name: 'fusion-gateway',
    connectionTimeoutMillis: 5_000,
    // The adapter writes and reads timestamps without their offset, so every session must speak UTC.
    options: '-c TimeZone=UTC',
  }
  // node-postgres waits forever by default, for a connection as for an answer.
  const pool = new pg.Pool({ ...settings, max: 10, statement_timeout: 30_000 })
  pool.on('error', onIdleError)

  return {
    adapters: adaptersOf(pool, observe),

    // The schema engine takes an advisory lock before it looks, and never gives it back: it dies with its session. So
    // all it sends must go to one session, which stays open however long a migration takes, and ends with the work.
    async exclusively(work) {
      const session = new pg.Pool({ ...settings, max: 1, idleTimeoutMillis: 0 })
      session.on('error', onIdleError)
      try {
        return await work(adaptersOf(session, observe))
      } finally {
        await session.end()
      }
    },

    close: () => pool.end(),
  }
}

function adaptersOf(pool: pg.Pool, observe: StatementObserver) {
  return observeAdapters(
    new PrismaPg(pool),
    observe,
    async (script) => void (await pool.query(script)),
    connectToShadowDatabase,
  )
}
