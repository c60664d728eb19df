import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  IsolationLevel,
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
  SqlResultSet,
  Transaction,
} from '@prisma/driver-adapter-utils'
import { DelegatingAdapter } from './delegating-adapter.ts'
import { isToBeUndone, JoinedTransaction } from './joined-transaction.ts'
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

/** Sends to the transaction that is under way, if there is one. */
class JoiningAdapter extends DelegatingAdapter {
  private readonly current: AsyncLocalStorage<JoinedTransaction>

  constructor(inner: SqlDriverAdapter, current: AsyncLocalStorage<JoinedTransaction>) {
    super(inner)
    this.current = current
  }

  override queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return (this.current.getStore() ?? this.inner).queryRaw(query)
  }

  override executeRaw(query: SqlQuery): Promise<number> {
    return (this.current.getStore() ?? this.inner).executeRaw(query)
  }

  override startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    return this.current.getStore()?.startSavepoint() ?? super.startTransaction(isolationLevel)
  }
}
