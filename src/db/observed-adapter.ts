import type {
  IsolationLevel,
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
  SqlQueryable,
  SqlResultSet,
  Transaction,
} from '@prisma/driver-adapter-utils'

/** Told that a statement has ended, and with which error when it failed. */
export type StatementEnd = (error?: unknown) => void

/**
 * Called with the text of each SQL statement, before it is sent. A statement for which it throws is not sent. What it
 * gives back, if anything, is told when the statement has ended.
 */
export type StatementObserver = (sql: string) => StatementEnd | undefined

/** Runs a script of several statements as it stands. Rejects when one of them fails. */
export type ScriptRunner = (script: string) => Promise<void>

/**
 * The one place every SQL statement passes: Prisma Client's, the batched reads', the schema engine's.
 *
 * It shows each statement to an observer, and replaces `executeScript`: adapter-pg 7.10 splits a script at every
 * semicolon, even one in a comment or a string, and pglite-prisma-adapter 0.7 neither awaits it nor reports its error.
 */
export function observeAdapters(
  factory: SqlMigrationAwareDriverAdapterFactory,
  observe: StatementObserver,
  runScript: ScriptRunner,
  connectToShadowDb: () => Promise<SqlDriverAdapter>,
): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => new ObservedAdapter(await factory.connect(), observe, runScript),
    connectToShadowDb,
  }
}

class ObservedQueryable<Inner extends SqlQueryable> implements SqlQueryable {
  protected readonly inner: Inner
  protected readonly observe: StatementObserver

  constructor(inner: Inner, observe: StatementObserver) {
    this.inner = inner
    this.observe = observe
  }

  get provider() {
    return this.inner.provider
  }

  get adapterName() {
    return this.inner.adapterName
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return this.observed(query.sql, () => this.inner.queryRaw(query))
  }

  executeRaw(query: SqlQuery): Promise<number> {
    return this.observed(query.sql, () => this.inner.executeRaw(query))
  }

  protected observed<Result>(sql: string, send: () => Promise<Result>): Promise<Result> {
    let end: StatementEnd | undefined
    try {
      end = this.observe(sql)
    } catch (error) {
      return Promise.reject(error)
    }
    const sent = send()
    // Beside the result, and not before it: nobody waits for what is noted.
    if (end) sent.then(() => end(), end)
    return sent
  }
}

class ObservedAdapter extends ObservedQueryable<SqlDriverAdapter> implements SqlDriverAdapter {
  private readonly runScript: ScriptRunner

  constructor(inner: SqlDriverAdapter, observe: StatementObserver, runScript: ScriptRunner) {
    super(inner, observe)
    this.runScript = runScript
  }

  executeScript(script: string): Promise<void> {
    return this.observed(script, () => this.runScript(script))
  }

  startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    return this.observed(
      'BEGIN',
      async () => new ObservedTransaction(await this.inner.startTransaction(isolationLevel), this.observe),
    )
  }

  getConnectionInfo() {
    return this.inner.getConnectionInfo?.() ?? { supportsRelationJoins: true }
  }

  dispose(): Promise<void> {
    return this.inner.dispose()
  }
}

class ObservedTransaction extends ObservedQueryable<Transaction> implements Transaction {
  get options() {
    return this.inner.options
  }

  // Without phantom queries Prisma sends COMMIT and ROLLBACK as statements, which `executeRaw` has observed already.
  commit(): Promise<void> {
    return this.options.usePhantomQuery ? this.observed('COMMIT', () => this.inner.commit()) : this.inner.commit()
  }

  rollback(): Promise<void> {
    return this.options.usePhantomQuery ? this.observed('ROLLBACK', () => this.inner.rollback()) : this.inner.rollback()
  }
}
