import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import type { PoolSettings, ReplicaSettings } from '../config.ts'
import type { Driver } from './driver.ts'
import { connectToShadowDatabase } from './embedded.ts'
import { joinTransactions } from './join-transactions.ts'
import { isShortRead, statementName } from './named-statements.ts'
import { observeAdapters, type StatementObserver } from './observed-adapter.ts'
import { PipeliningPool } from './pipelining-pool.ts'
import { createConnectionClass } from './postgresql-connection.ts'
import { listenOnPostgresql } from './postgresql-listener.ts'
import { createReplica, type ReplicaObserver } from './replica.ts'
import { type MayLag, routeReads } from './route-reads.ts'
import { watchReplicas } from './watch-replicas.ts'

/** Any number that all gateways agree on, other than the schema engine's own (72707369). */
const migrationLock = 4_070_226

export interface PostgresqlOptions {
  readonly observe: StatementObserver
  /** Told of a connection that broke while nobody used it. */
  readonly onIdleError: (error: Error) => void
  readonly pool?: Partial<PoolSettings> | undefined
  readonly replicas?: ReplicaSettings | undefined
  /** Whether the statements that are sent now may see rows as they were a moment ago. */
  readonly mayLag?: MayLag | undefined
  /** Told of each replica that is used or left out from now on. */
  readonly onReplica?: ReplicaObserver | undefined
}

const defaultPool: PoolSettings = {
  size: 10,
  connectMilliseconds: 5_000,
  acquireMilliseconds: 5_000,
  statementMilliseconds: 4_000,
}

/** The server ends a statement by itself. So much later the client gives up, in case the server is not there to do so. */
const lateMilliseconds = 1_000

/** A gateway that is frozen within a transaction must not keep its locks from others. */
const idleInTransactionMilliseconds = 30_000

/**
 * Opens a pool to a PostgreSQL server. Nothing is sent to it until the first statement; replicas are looked at from now on.
 *
 * @param url `postgresql://user:password@host:port/database`
 */
export function openPostgresql(url: string, options: PostgresqlOptions): Driver {
  const { observe, onIdleError } = options
  const poolSettings = { ...defaultPool, ...options.pool }
  const settings = settingsFor(url, poolSettings)
  const pool = openPool(settings, poolSettings, onIdleError)
  const replicas = openReplicas(settings, poolSettings, options)
  const { adapters, ...transactions } = joinTransactions(adaptersOf(pool, observe, replicas.route))

  return {
    ...{ adapters, transactions },
    undoesInterruptedMigrations: false,
    queue: { db: { executeSql: (text, values) => pool.query(text, values) }, backend: 'postgres' },

    // An advisory lock lives and dies with its session. So all of the work goes to one, which stays open however long
    // a migration takes. The schema engine takes a lock of its own there, but gives up waiting for it after 10 s.
    async exclusively(work) {
      const Client = createConnectionClass(poolSettings.connectMilliseconds)
      const session = new pg.Pool({ ...settings, Client, max: 1, idleTimeoutMillis: 0 })
      session.on('error', onIdleError)
      try {
        await session.query('SELECT pg_advisory_lock($1)', [migrationLock])
        return await work(adaptersOf(session, observe))
      } finally {
        await session.end()
      }
    },

    listen: (channel, events) => listenOnPostgresql(settings, channel, events, onIdleError),

    connections: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),

    async close() {
      await replicas.close()
      await pool.end()
    },
  }
}

function settingsFor(url: string, { connectMilliseconds }: PoolSettings): pg.PoolConfig {
  return {
    connectionString: url,
    application_name: 'fusion-gateway',
    connectionTimeoutMillis: connectMilliseconds,
    onConnect: setUpSession({}),
  }
}

/**
 * What every session begins with. As a statement, since PgBouncer refuses it among the parameters of a connection. The
 * adapter writes and reads timestamps without their offset, and dates in one form only.
 */
function setUpSession(settings: Readonly<Record<string, string>>): (client: pg.ClientBase) => Promise<unknown> {
  const all = { TimeZone: 'UTC', DateStyle: 'ISO, MDY', ...settings }
  const script = Object.entries(all).map(([name, value]) => `SET ${name} = '${value}'`)
  // The pool waits for it, though its types do not say so.
  return (client) => client.query(script.join('; '))
}

function openPool(settings: pg.PoolConfig, waits: PoolSettings, onIdleError: (error: Error) => void): pg.Pool {
  // node-postgres waits forever by default, for a connection as for an answer.
  const waiting: pg.PoolConfig = {
    max: waits.size,
    Client: createConnectionClass(waits.connectMilliseconds),
    connectionTimeoutMillis: waits.acquireMilliseconds,
    query_timeout: waits.statementMilliseconds + lateMilliseconds,
    onConnect: setUpSession({
      statement_timeout: String(waits.statementMilliseconds),
      idle_in_transaction_session_timeout: String(idleInTransactionMilliseconds),
    }),
  }
  const pool = new PipeliningPool({ ...settings, ...waiting }, isShortRead)
  pool.on('error', onIdleError)
  return pool
}

/** Opens a pool to each replica, when there are any and something may be read from them. */
function openReplicas(primary: pg.PoolConfig, waits: PoolSettings, options: PostgresqlOptions) {
  const { replicas: { urls, lagMilliseconds } = { urls: [], lagMilliseconds: 0 }, mayLag, onIdleError } = options
  if (!mayLag || urls.length === 0) return { route: unrouted, close: async () => undefined }
  const opened = urls.map((url) => {
    const settings = settingsFor(url, waits)
    const pool = openPool(settings, waits, onIdleError)
    const replica = createReplica(new URL(url).host, prismaPg(pool).connect(), options.onReplica ?? (() => undefined))
    return { replica, pool, settings }
  })
  const replicas = opened.map(({ replica }) => replica)
  const stopWatching = watchReplicas(primary, opened, lagMilliseconds)
  return {
    route: (factory: SqlMigrationAwareDriverAdapterFactory) => routeReads(factory, replicas, mayLag),
    async close() {
      await stopWatching()
      await Promise.all(opened.map(({ pool }) => pool.end()))
    },
  }
}

const unrouted = (factory: SqlMigrationAwareDriverAdapterFactory) => factory

function prismaPg(pool: pg.Pool): PrismaPg {
  // The adapter passes on what it is given, and undefined is no name; its type says less.
  return new PrismaPg(pool, { statementNameGenerator: (query) => statementName(query) as string })
}

function adaptersOf(pool: pg.Pool, observe: StatementObserver, route = unrouted) {
  return observeAdapters(
    route(prismaPg(pool)),
    observe,
    async (script) => void (await pool.query(script)),
    connectToShadowDatabase,
  )
}
