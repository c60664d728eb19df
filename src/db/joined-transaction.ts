import type { SqlQuery, SqlQueryable, SqlResultSet, Transaction } from '@prisma/driver-adapter-utils'
import { GatewayError } from '../errors.ts'
import { isConflict } from './violations.ts'

const nothing = async () => undefined

/** A transaction that many send to: one statement at a time, as a connection can take them. */
export class JoinedTransaction implements SqlQueryable {
  readonly provider
  readonly adapterName
  private readonly sql: SqlQueryable
  private last: Promise<unknown> = Promise.resolve()
  private hasEnded = false
  private savepoints = 0
  private readonly done: ReadonlyMap<string, unknown>
  /** What has to be done before this is run again. From the first on no statement is sent: it is to be undone anyway. */
  readonly postponed = new Map<string, () => Promise<unknown>>()
  /** Whether another transaction was in the way of a statement: whoever caught that cannot have mended it. */
  metConflict = false
  /** The error of a statement after which no savepoint was gone back to. */
  private failure: { readonly error: unknown } | undefined

  constructor(sql: SqlQueryable, done: ReadonlyMap<string, unknown>) {
    this.sql = sql
    this.done = done
    this.provider = sql.provider
    this.adapterName = sql.adapterName
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return this.inTurn(() => this.sql.queryRaw(query))
  }

  executeRaw(query: SqlQuery): Promise<number> {
    return this.inTurn(() => this.sql.executeRaw(query))
  }

  async attempt<Result>(work: () => Promise<Result>): Promise<Result> {
    const savepoint = await this.startSavepoint()
    try {
      const result = await work()
      await savepoint.commit()
      return result
    } catch (error) {
      await savepoint.rollback()
      throw error
    }
  }

  postpone<Result>(key: string, work: () => Promise<Result>): Result {
    if (this.done.has(key)) return this.done.get(key) as Result
    this.postponed.set(key, work)
    throw isToBeUndone()
  }

  /**
   * PostgreSQL takes COMMIT after a statement that has failed, and undoes everything without an error: so it is not sent.
   *
   * @throws the error of that statement
   */
  requireWhole(): void {
    if (this.failure) throw this.failure.error
  }

  async startSavepoint(): Promise<Transaction> {
    // Work that comes later may have something to postpone as well: all of it is done in one go.
    if (this.postponed.size > 0) return this.part(nothing, nothing)
    this.savepoints += 1
    const name = `savepoint_${this.savepoints}`
    await this.run(`SAVEPOINT ${name}`)
    return this.part(
      () => this.run(`RELEASE SAVEPOINT ${name}`),
      async () => {
        await this.run(`ROLLBACK TO SAVEPOINT ${name}`)
        this.failure = undefined
      },
    )
  }

  /** What looks like a transaction to those who send to it. */
  private part(commit: () => Promise<void>, rollback: () => Promise<void>): Transaction {
    return {
      provider: this.provider,
      adapterName: this.adapterName,
      options: { usePhantomQuery: true },
      queryRaw: (query) => this.queryRaw(query),
      executeRaw: (query) => this.executeRaw(query),
      commit,
      rollback,
    }
  }

  /** Waits for what is under way. What comes later is refused: the connection may be somebody else's by then. */
  async end(): Promise<void> {
    this.hasEnded = true
    await this.last
  }

  private async run(sql: string): Promise<void> {
    await this.executeRaw({ sql, args: [], argTypes: [] })
  }

  private inTurn<Result>(send: () => Promise<Result>): Promise<Result> {
    if (this.hasEnded) return Promise.reject(new Error('A statement came after the end of its transaction'))
    if (this.postponed.size > 0) return Promise.reject(isToBeUndone())
    const result = this.last.then(send)
    this.last = result.catch((error: unknown) => {
      this.metConflict ||= isConflict(error)
      this.failure ??= { error }
    })
    return result
  }
}

/** It ends the work that is under way, and nobody sees it. */
export function isToBeUndone(): GatewayError {
  return new GatewayError('SERVICE_UNAVAILABLE', 'This has to be done outside of the transaction.')
}
