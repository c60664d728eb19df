import type {
  IsolationLevel,
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
  SqlQueryable,
  SqlResultSet,
  Transaction,
} from '@prisma/driver-adapter-utils'

/** Called with the text of each SQL statement, before it is sent. */
export type StatementObserver = (sql: string) => void

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
    this.observe(query.sql)
    return this.inner.queryRaw(query)
  }

  executeRaw(query: SqlQuery): Promise<number> {
    this.observe(query.sql)
    return this.inner.executeRaw(query)
  }
}

class ObservedAdapter extends ObservedQueryable<SqlDriverAdapter> implements SqlDriverAdapter {
  private readonly runScript: ScriptRunner

  constructor(inner: SqlDriverAdapter, observe: StatementObserver, runScript: ScriptRunner) {
    super(inner, observe)
    this.runScript = runScript
  }

  executeScript(script: string): Promise<void> {
    this.observe(script)
    return this.runScript(script)
  }

  async startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    this.observe('BEGIN')
    return new ObservedTransaction(await this.inner.startTransaction(isolationLevel), this.observe)
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
    if (this.options.usePhantomQuery) this.observe('COMMIT')
    return this.inner.commit()
  }

  rollback(): Promise<void> {
    if (this.options.usePhantomQuery) this.observe('ROLLBACK')
    return this.inner.rollback()
  }
}
