import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  IsolationLevel,
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
  SqlQueryable,
  SqlResultSet,
  Transaction,
} from '@prisma/driver-adapter-utils'
import { GatewayError } from '../errors.ts'
import { inTransaction } from './transaction.ts'
import { isConflict } from './violations.ts'

/** Adapters whose statements join the transaction that is under way where they are sent. */
export interface JoinedAdapters {
  readonly adapters: SqlMigrationAwareDriverAdapterFactory
  /**
   * Runs work in one transaction: every statement that it sends, by Prisma Client or past it, belongs to it, and a
   * transaction within is a savepoint. Rejects, with nothing written, when the work does. The work runs again, up to three
   * times, when another transaction was in its way.
   */
  transact<Result>(work: () => Promise<Result>): Promise<Result>
  /**
   * Runs work that may fail and leave the rest standing: within a transaction from a savepoint on; outside of one again, up
   * to three times, when another transaction was in its way.
   */
  attempt<Result>(work: () => Promise<Result>): Promise<Result>
  /**
   * Runs work that cannot be part of a transaction. Within one it throws: the transaction is undone, the work done, and the
   * transaction run again, which then gets the result.
   *
   * @param key what the work is known by within the transaction
   */
  outside<Result>(key: string, work: () => Promise<Result>): Promise<Result>
}

const maxTries = 3

/** How often work is begun anew altogether. */
const maxRounds = 8

/** Lets the statements of adapters join a transaction, without the code that sends them having to know of it. */
export function joinTransactions(factory: SqlMigrationAwareDriverAdapterFactory): JoinedAdapters {
  const current = new AsyncLocalStorage<JoinedTransaction>()
  let connecting: Promise<SqlDriverAdapter> | undefined

  /** @returns the result of the work; nothing when it is to be run again, after what was postponed */
  async function run<Result>(work: () => Promise<Result>, done: Map<string, unknown>, isLastTry: boolean) {
    connecting ??= factory.connect()
    let joined: JoinedTransaction | undefined
    try {
      const result = await inTransaction(await connecting, async (sql) => {
        const transaction = new JoinedTransaction(sql, done)
        joined = transaction
        const answer = await current.run(transaction, work).finally(() => transaction.end())
        if (transaction.postponed.size > 0) throw again
        transaction.requireWhole()
        return answer
      })
      return { result }
    } catch (error) {
      if (joined && joined.postponed.size > 0) {
        for (const [key, postponed] of joined.postponed) done.set(key, await postponed())
        return undefined
      }
      if (isLastTry || !(joined?.metConflict || isConflict(error))) throw error
      return undefined
    }
  }

  return {
    adapters: {
      provider: factory.provider,
      adapterName: factory.adapterName,
      connect: async () => new JoiningAdapter(await factory.connect(), current),
      connectToShadowDb: () => factory.connectToShadowDb(),
    },

    async transact(work) {
      const done = new Map<string, unknown>()
      let rounds = 0
      for (let tries = 1; ; tries += 1) {
        const known = done.size
        const outcome = await run(work, done, tries >= maxTries)
        if (outcome) return outcome.result
        // What was done outside stays done: whoever asks again has the less to wait for.
        rounds += 1
        if (rounds > maxRounds) throw isToBeUndone()
        if (done.size > known) tries -= 1
      }
    },

    async attempt(work) {
      const joined = current.getStore()
      if (joined) return joined.attempt(work)
      for (let tries = 1; ; tries += 1) {
        try {
          return await work()
        } catch (error) {
          if (tries >= maxTries || !isConflict(error)) throw error
        }
      }
    },

    async outside(key, work) {
      const joined = current.getStore()
      return joined ? joined.postpone(key, work) : work()
    },
  }
}

/** Why a transaction is undone that is to be run again. */
const again = new Error('The transaction is run again')

/** A transaction that many send to: one statement at a time, as a connection can take them. */
class JoinedTransaction implements SqlQueryable {
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
    if (this.postponed.size > 0) return this.standIn()
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

  private standIn(): Transaction {
    return {
      provider: this.provider,
      adapterName: this.adapterName,
      options: { usePhantomQuery: true },
      queryRaw: (query) => this.queryRaw(query),
      executeRaw: (query) => this.executeRaw(query),
      commit: async () => undefined,
      rollback: async () => undefined,
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
function isToBeUndone(): GatewayError {
  return new GatewayError('SERVICE_UNAVAILABLE', 'This has to be done outside of the transaction.')
}

class JoiningAdapter implements SqlDriverAdapter {
  readonly provider
  readonly adapterName
  private readonly inner: SqlDriverAdapter
  private readonly current: AsyncLocalStorage<JoinedTransaction>

  constructor(inner: SqlDriverAdapter, current: AsyncLocalStorage<JoinedTransaction>) {
    this.inner = inner
    this.current = current
    this.provider = inner.provider
    this.adapterName = inner.adapterName
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return (this.current.getStore() ?? this.inner).queryRaw(query)
  }

  executeRaw(query: SqlQuery): Promise<number> {
    return (this.current.getStore() ?? this.inner).executeRaw(query)
  }

  executeScript(script: string): Promise<void> {
    return this.inner.executeScript(script)
  }

  startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    return this.current.getStore()?.startSavepoint() ?? this.inner.startTransaction(isolationLevel)
  }

  getConnectionInfo() {
    return this.inner.getConnectionInfo?.() ?? { supportsRelationJoins: true }
  }

  dispose(): Promise<void> {
    return this.inner.dispose()
  }
}
