import type {
  IsolationLevel,
  SqlDriverAdapter,
  SqlQuery,
  SqlResultSet,
  Transaction,
} from '@prisma/driver-adapter-utils'

/** A driver adapter that has another do everything: to be extended by those that do something otherwise. */
export class DelegatingAdapter implements SqlDriverAdapter {
  readonly provider
  readonly adapterName
  protected readonly inner: SqlDriverAdapter

  constructor(inner: SqlDriverAdapter) {
    this.inner = inner
    this.provider = inner.provider
    this.adapterName = inner.adapterName
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return this.inner.queryRaw(query)
  }

  executeRaw(query: SqlQuery): Promise<number> {
    return this.inner.executeRaw(query)
  }

  executeScript(script: string): Promise<void> {
    return this.inner.executeScript(script)
  }

  startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    return this.inner.startTransaction(isolationLevel)
  }

  getConnectionInfo() {
    return this.inner.getConnectionInfo?.() ?? { supportsRelationJoins: true }
  }

  dispose(): Promise<void> {
    return this.inner.dispose()
  }
}
