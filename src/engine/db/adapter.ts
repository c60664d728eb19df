import type { AsyncLocalStorage } from 'node:async_hooks'
import type {
  IsolationLevel,
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
  SqlQueryable,
  SqlResultSet,
  Transaction,
} from '@prisma/driver-adapter-utils'
import type { JoinedTransaction } from './joined-transaction.ts'
import { isShortRead, statementNameOf } from './statement.ts'
import { endTransaction, rollBack } from './transactions.ts'

// The triggers of the event log store who changed a row. They read the setting `fusion.actor` of the transaction. A
// write sets it by its RETURNING clause, which PostgreSQL evaluates before it runs the triggers, so this needs no
// statement of its own. Citus rejects such a clause, and sends the settings of a transaction to the servers of its
// rows: there a transaction begins with the setting, and a write by itself is a transaction.

const write = /^\s*(?:WITH\b.*\)\s+)?(?:INSERT INTO|UPDATE|DELETE FROM)\s/is
const returning = /\bRETURNING\b/i

/** Whether a statement writes rows. */
function isWrite({ sql }: SqlQuery): boolean {
  return write.test(sql)
}

const locking = /\b(INSERT|UPDATE|DELETE|SHARE)\b/

/** Whether a statement may wait for locks of rows or tables. Short reads, which most statements are, do not. */
function mayWait(query: SqlQuery): boolean {
  return !isShortRead(statementNameOf(query)) && locking.test(query.sql)
}

/** The statement that lets the triggers know the actor of a transaction, on whichever server they run. */
function setActor(actor: string): SqlQuery {
  return { sql: `SET LOCAL fusion.actor = '${actor.replaceAll("'", "''")}'`, args: [], argTypes: [] }
}

/** Returns the functions that let the triggers know the actor of writes. */
function createActorQueries() {
  /** The text with the actor for each named statement; null if it is no write. There are only so many. */
  const known = new Map<string, string | null>()

  function textOf({ sql, args }: SqlQuery, name: string | undefined): string | null {
    const found = name === undefined ? undefined : known.get(name)
    if (found !== undefined) return found
    const set = `set_config('fusion.actor', $${args.length + 1}, true) IS NULL`
    const text = write.test(sql) ? `${sql} ${returning.test(sql) ? `, ${set}` : `RETURNING ${set}`}` : null
    if (name !== undefined) known.set(name, text)
    return text
  }

  /**
   * Adds the actor to a write: `UPDATE … RETURNING id` ⇒ `UPDATE … RETURNING id, set_config('fusion.actor', $3, true)
   * IS NULL`.
   */
  function withActor(actor: string, query: SqlQuery): SqlQuery {
    const name = statementNameOf(query)
    const sql = textOf(query, name)
    if (sql === null) return query
    return {
      sql,
      args: [...query.args, actor],
      argTypes: [...query.argTypes, { scalarType: 'string', arity: 'scalar' }],
      ...(name !== undefined && { statementName: `${name}_by` }),
    }
  }

  /** Sends a query with an actor, and returns its result without the column that this adds. */
  async function queryAs(
    actor: string,
    query: SqlQuery,
    send: (query: SqlQuery) => Promise<SqlResultSet>,
  ): Promise<SqlResultSet> {
    const sent = withActor(actor, query)
    if (sent === query) return send(query)
    const { columnNames, columnTypes, rows, ...result } = await send(sent)
    return {
      ...result,
      columnNames: columnNames.slice(0, -1),
      columnTypes: columnTypes.slice(0, -1),
      rows: rows.map((values) => values.slice(0, -1)),
    }
  }

  return { withActor, queryAs }
}

/** Called when a statement has ended, with its error if it failed. */
export type StatementEnd = (error?: unknown) => void

/**
 * Called with the text of each statement before it is sent. The statement is not sent if the observer throws. The
 * function that it returns is called when the statement has ended.
 */
export type StatementObserver = (sql: string) => StatementEnd | undefined

/** The access to a database: Prisma's driver adapter, and functions that Prisma does not have. */
export interface Connector {
  readonly factory: SqlMigrationAwareDriverAdapterFactory
  /**
   * Runs a script of several statements. adapter-pg 7.10 splits a script at each semicolon, even in a comment or a
   * string; pglite-prisma-adapter 0.7 neither awaits it nor reports its error.
   */
  runScript(script: string): Promise<void>
  /** Opens an empty database in memory, in which the schema engine replays migrations. */
  connectToShadowDatabase(): Promise<SqlDriverAdapter>
  /** Sends a read outside of transactions to a replica, if one may serve it; otherwise calls `sendToPrimary`. */
  routeRead?(query: SqlQuery, sendToPrimary: () => Promise<SqlResultSet>): Promise<SqlResultSet>
  /**
   * The server with the rows of the tenant whose work sends statements now, if it is not that of the factory. Any other
   * server forwards them.
   */
  ownServer?(): SqlDriverAdapter | undefined
  /** Whether the rows of tenants are on several servers. It is known when there was a session. Absent: they are not. */
  isDistributed?(): boolean
}

/**
 * Runs a write, or a transaction to its end, in a queue. They can wait for locks, and must not have all connections
 * meanwhile.
 */
export type RunWrite = <Result>(work: () => Promise<Result>) => Promise<Result>

export interface AdapterOptions {
  /** Without it, writes and transactions wait only for a connection. */
  readonly runWrite?: RunWrite | undefined
  readonly observe?: StatementObserver
  /** The transaction that the statements sent now belong to. */
  readonly current?: AsyncLocalStorage<JoinedTransaction>
  /** Who sends the statements now, for the event log: the id of a key and of a request, separated by a space. */
  readonly actorOf?: (() => string | undefined) | undefined
}

/**
 * Creates the driver adapters that every statement passes: those of Prisma Client, of this gateway's own reads and
 * writes, and of the schema engine. They observe each statement and send it to the current transaction, to a replica,
 * or to the primary.
 */
export function createAdapters(
  connector: Connector,
  options: AdapterOptions = {},
): SqlMigrationAwareDriverAdapterFactory {
  const { factory } = connector
  const isDistributed = () => connector.isDistributed?.() ?? false
  const settings = { ...options, actors: createActorQueries(), isDistributed }
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => new Adapter(await factory.connect(), connector, settings),
    connectToShadowDb: () => connector.connectToShadowDatabase(),
  }
}

interface AdapterSettings extends AdapterOptions {
  readonly actors: ReturnType<typeof createActorQueries>
  readonly isDistributed: () => boolean
}

class ObservedQueryable<Inner extends SqlQueryable> implements SqlQueryable {
  readonly provider
  readonly adapterName
  private readonly inner: Inner
  protected readonly settings: AdapterSettings

  constructor(inner: Inner, settings: AdapterSettings) {
    this.inner = inner
    this.settings = settings
    this.provider = inner.provider
    this.adapterName = inner.adapterName
  }

  /** Where statements are sent now. */
  protected get target(): Inner {
    return this.inner
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    const actor = this.settings.actorOf?.()
    if (this.settings.isDistributed() && isWrite(query))
      return this.observed(query.sql, () => this.sendAs(actor, (inner) => inner.queryRaw(withoutReturnedCasts(query))))
    const send = (sent: SqlQuery) => this.observed(sent.sql, () => this.sendQuery(sent))
    return actor === undefined ? send(query) : this.settings.actors.queryAs(actor, query, send)
  }

  executeRaw(query: SqlQuery): Promise<number> {
    const actor = this.settings.actorOf?.()
    if (this.settings.isDistributed() && isWrite(query))
      return this.observed(query.sql, () => this.sendAs(actor, (inner) => inner.executeRaw(query)))
    const sent = actor === undefined ? query : this.settings.actors.withActor(actor, query)
    return this.observed(sent.sql, () => this.target.executeRaw(sent))
  }

  protected sendQuery(query: SqlQuery): Promise<SqlResultSet> {
    return this.target.queryRaw(query)
  }

  /** Sends a write to a distributed database. A transaction has its actor from its start on. */
  protected sendAs<Result>(
    _actor: string | undefined,
    send: (inner: SqlQueryable) => Promise<Result>,
  ): Promise<Result> {
    return send(this.target)
  }

  protected observed<Result>(sql: string, send: () => Promise<Result>): Promise<Result> {
    let end: StatementEnd | undefined
    try {
      end = this.settings.observe?.(sql)
    } catch (error) {
      return Promise.reject(error)
    }
    const sent = send()
    // The caller gets the result without waiting for the observer.
    if (end) sent.then(() => end(), end)
    return sent
  }
}

class Adapter extends ObservedQueryable<SqlDriverAdapter> implements SqlDriverAdapter {
  private readonly connector: Connector

  constructor(inner: SqlDriverAdapter, connector: Connector, settings: AdapterSettings) {
    super(inner, settings)
    this.connector = connector
  }

  protected override get target(): SqlDriverAdapter {
    return this.connector.ownServer?.() ?? super.target
  }

  override queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    if (this.transaction) return this.transaction.queryRaw(query)
    const { runWrite } = this.settings
    return runWrite && mayWait(query) ? runWrite(() => super.queryRaw(query)) : super.queryRaw(query)
  }

  override executeRaw(query: SqlQuery): Promise<number> {
    if (this.transaction) return this.transaction.executeRaw(query)
    const { runWrite } = this.settings
    return runWrite ? runWrite(() => super.executeRaw(query)) : super.executeRaw(query)
  }

  protected override sendQuery(query: SqlQuery): Promise<SqlResultSet> {
    const send = () => this.target.queryRaw(query)
    return this.connector.routeRead?.(query, send) ?? send()
  }

  protected override async sendAs<Result>(
    actor: string | undefined,
    send: (inner: SqlQueryable) => Promise<Result>,
  ): Promise<Result> {
    if (actor === undefined) return send(this.target)
    const transaction = await this.startAs(actor)
    const result = await orRollBack(transaction, async () => {
      const result = await send(transaction)
      await endTransaction(transaction, 'COMMIT')
      return result
    })
    await transaction.commit()
    return result
  }

  private async startAs(actor: string | undefined, isolationLevel?: IsolationLevel): Promise<Transaction> {
    const transaction = await this.target.startTransaction(isolationLevel)
    if (actor === undefined || !this.settings.isDistributed()) return transaction
    await orRollBack(transaction, () => transaction.executeRaw(setActor(actor)))
    return transaction
  }

  executeScript(script: string): Promise<void> {
    return this.observed(script, () => this.connector.runScript(script))
  }

  startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    return this.transaction?.startSavepoint() ?? this.begin(isolationLevel)
  }

  private async begin(isolationLevel?: IsolationLevel): Promise<Transaction> {
    const { actorOf, runWrite } = this.settings
    const release = runWrite && (await startInQueue(runWrite))
    try {
      return await this.observed(
        'BEGIN',
        async () =>
          new ObservedTransaction(await this.startAs(actorOf?.(), isolationLevel), { ...this.settings, release }),
      )
    } catch (error) {
      release?.()
      throw error
    }
  }

  getConnectionInfo() {
    return super.target.getConnectionInfo?.() ?? { supportsRelationJoins: true }
  }

  dispose(): Promise<void> {
    return super.target.dispose()
  }

  private get transaction(): JoinedTransaction | undefined {
    return this.settings.current?.getStore()
  }
}

async function orRollBack<Result>(transaction: Transaction, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    await rollBack(transaction)
    throw error
  }
}

/** Waits in the queue of writes. Returns the function that lets the next one start. */
function startInQueue(runWrite: RunWrite): Promise<() => void> {
  return new Promise((resolve, reject) => {
    runWrite(() => new Promise<void>((release) => resolve(release))).catch(reject)
  })
}

interface TransactionSettings extends AdapterSettings {
  /** Lets the next write start. */
  readonly release: (() => void) | undefined
}

class ObservedTransaction extends ObservedQueryable<Transaction> implements Transaction {
  private readonly release: () => void

  constructor(inner: Transaction, settings: TransactionSettings) {
    super(inner, settings)
    this.release = settings.release ?? (() => undefined)
  }

  get options() {
    return this.target.options
  }

  // Without phantom queries Prisma sends COMMIT and ROLLBACK as statements, which `executeRaw` has observed.
  commit(): Promise<void> {
    const commit = () => this.target.commit()
    return (this.options.usePhantomQuery ? this.observed('COMMIT', commit) : commit()).finally(this.release)
  }

  rollback(): Promise<void> {
    const rollback = () => this.target.rollback()
    return (this.options.usePhantomQuery ? this.observed('ROLLBACK', rollback) : rollback()).finally(this.release)
  }
}

/**
 * Removes the casts with which Prisma Client returns enums from a write: `RETURNING "account"."status"::text`. Citus
 * rejects them, because the names of an enum can be changed. The driver reads an enum as text without them.
 */
function withoutReturnedCasts<Query extends SqlQuery>(query: Query): Query {
  const start = query.sql.lastIndexOf(' RETURNING ')
  if (start < 0 || !query.sql.includes('::text', start)) return query
  const returned = query.sql.slice(start).replaceAll('"::text', '"')
  return { ...query, sql: query.sql.slice(0, start) + returned }
}
