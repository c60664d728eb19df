import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { OperatorError } from '../operator.ts'
import type { Driver } from './driver.ts'
import { connectToShadowDatabase } from './embedded.ts'
import { statementName } from './named-statements.ts'
import { observeAdapters, type StatementObserver } from './observed-adapter.ts'
import { listenOnPostgresql } from './postgresql-listener.ts'

/** Any number that all gateways agree on, other than the schema engine's own (72707369). */
const migrationLock = 4_070_226

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
    connectionString: inUtc(url),
    application_name: 'fusion-gateway',
    connectionTimeoutMillis: 5_000,
  }
  // node-postgres waits forever by default, for a connection as for an answer. The server ends a statement by itself
  // after 30 s; the client gives up a little later, in case the server is not there to do so.
  const pool = new pg.Pool({ ...settings, max: 10, statement_timeout: 30_000, query_timeout: 35_000 })
  pool.on('error', onIdleError)

  return {
    adapters: adaptersOf(pool, observe),
    undoesInterruptedMigrations: false,
    queue: { db: { executeSql: (text, values) => pool.query(text, values) }, backend: 'postgres' },

    // An advisory lock lives and dies with its session. So all of the work goes to one, which stays open however long
    // a migration takes. The schema engine takes a lock of its own there, but gives up waiting for it after 10 s.
    async exclusively(work) {
      const session = new pg.Pool({ ...settings, max: 1, idleTimeoutMillis: 0 })
      session.on('error', onIdleError)
      try {
        await session.query('SELECT pg_advisory_lock($1)', [migrationLock])
        return await work(adaptersOf(session, observe))
      } finally {
        await session.end()
      }
    },

    listen: (channel, events) => listenOnPostgresql(settings, channel, events, onIdleError),

    close: () => pool.end(),
  }
}

/** The adapter writes and reads timestamps without their offset, so every session must speak UTC. */
function inUtc(url: string): string {
  if (!URL.canParse(url)) throw new OperatorError('DATABASE_URL is not a URL.')
  const parsed = new URL(url)
  parsed.searchParams.set('options', `${parsed.searchParams.get('options') ?? ''} -c TimeZone=UTC`.trim())
  return parsed.href
}

function adaptersOf(pool: pg.Pool, observe: StatementObserver) {
  return observeAdapters(
    // The adapter passes on what it is given, and undefined is no name; its type says less.
    new PrismaPg(pool, { statementNameGenerator: (query) => statementName(query) as string }),
    observe,
    async (script) => void (await pool.query(script)),
    connectToShadowDatabase,
  )
}
