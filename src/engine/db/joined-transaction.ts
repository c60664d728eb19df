import type { SqlQuery, SqlQueryable, SqlResultSet, Transaction } from '@prisma/driver-adapter-utils'
import { isConflict } from './errors.ts'

/** A transaction that many senders share. Its connection takes one statement at a time. */
export class JoinedTransaction implements SqlQueryable {
  readonly provider
  readonly adapterName
  private readonly sql: SqlQueryable
  private last: Promise<unknown> = Promise.resolve()
  private hasEnded = false
  private savepoints = 0
  /**
   * The error of a statement after which no savepoint was restored. PostgreSQL can then only roll back: even COMMIT
   * rolls back, without an error.
   */
  failure: { readonly error: unknown } | undefined
  /** The error of a statement that conflicted with another transaction, even if a sender caught it. */
  conflict: { readonly error: unknown } | undefined
  isUndone = false
  /** What happens outside of the database when the transaction is committed. */
  readonly effects: (() => void)[] = []

  constructor(sql: SqlQueryable) {
    this.sql = sql
    this.provider = sql.provider
    this.adapterName = sql.adapterName
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return this.queued(() => this.sql.queryRaw(query))
  }

  executeRaw(query: SqlQuery): Promise<number> {
    return this.queued(() => this.sql.executeRaw(query))
  }

  /** Makes the transaction roll back when its work has ended. The result of the work is still returned. */
  undo(): void {
    this.isUndone = true
  }

  /** Runs work in a savepoint, which is restored if the work fails. */
  async savepoint<Result>(work: () => Promise<Result>): Promise<Result> {
    const savepoint = await this.startSavepoint()
    const { length } = this.effects
    try {
      const result = await work()
      await savepoint.commit()
      return result
    } catch (error) {
      this.effects.length = length
      // If this fails too, the transaction cannot be committed, and the first error says why.
      await savepoint.rollback().catch(() => undefined)
      throw error
    }
  }

  async startSavepoint(): Promise<Transaction> {
    this.savepoints += 1
    const name = `savepoint_${this.savepoints}`
    await this.run(`SAVEPOINT ${name}`)
    return {
      provider: this.provider,
      adapterName: this.adapterName,
      options: { usePhantomQuery: true },
      queryRaw: (query) => this.queryRaw(query),
      executeRaw: (query) => this.executeRaw(query),
      commit: () => this.run(`RELEASE SAVEPOINT ${name}`),
      rollback: async () => {
        await this.run(`ROLLBACK TO SAVEPOINT ${name}`)
        this.failure = undefined
      },
    }
  }

  /** Waits for the statements under way and rejects later ones: another transaction may have the connection by then. */
  async end(): Promise<void> {
    this.hasEnded = true
    await this.last
  }

  private async run(sql: string): Promise<void> {
    await this.executeRaw({ sql, args: [], argTypes: [] })
  }

  private queued<Result>(send: () => Promise<Result>): Promise<Result> {
    if (this.hasEnded) return Promise.reject(new Error('A statement was sent after the end of its transaction'))
    const result = this.last.then(send)
    this.last = result.catch((error: unknown) => {
      if (isConflict(error)) this.conflict ??= { error }
      this.failure ??= { error }
    })
    return result
  }
}
