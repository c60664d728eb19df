import type { AsyncLocalStorage } from 'node:async_hooks'
import type { SqlDriverAdapter, Transaction } from '@prisma/driver-adapter-utils'
import { isConflict } from './errors.ts'
import { JoinedTransaction } from './joined-transaction.ts'

/** What work can do to the transaction that it runs in. */
type TransactionControl = Pick<JoinedTransaction, 'undo'>

/**
 * Runs work in a transaction. Every statement that the work sends belongs to it, whether through Prisma Client or not.
 * If the work fails, nothing is written. A call within a transaction is a savepoint of it.
 *
 * Work that conflicts with another transaction (deadlock, serialization failure) is rolled back and run again, at most
 * three times in all. Otherwise only workers try again, when they store the outcome of a job.
 *
 * So it has no effect outside of the database: this comes after the transaction, or is left to {@link AfterCommit}.
 *
 * @param options.hasOneWrite whether the work writes with one statement, which is a transaction by itself: BEGIN and
 *   COMMIT are not sent
 * @param options.runsOnce whether a conflict fails the work at once, because it cannot be repeated
 */
export type Transact = <Result>(
  work: (transaction: TransactionControl) => Promise<Result>,
  options?: { readonly hasOneWrite?: boolean; readonly runsOnce?: boolean },
) => Promise<Result>

/** Does something outside of the database because of a write: once the transaction that it belongs to is committed. */
export type AfterCommit = (effect: () => void) => void

export function createAfterCommit(current: AsyncLocalStorage<JoinedTransaction>): AfterCommit {
  return (effect) => {
    const transaction = current.getStore()
    if (transaction) transaction.effects.push(effect)
    else effect()
  }
}

const maxTries = 3

/** @param current the transaction that the statements sent now belong to; the adapters look it up there (adapter.ts) */
export function createTransact(sql: SqlDriverAdapter, current: AsyncLocalStorage<JoinedTransaction>): Transact {
  return async (work, { hasOneWrite = false, runsOnce = false } = {}) => {
    const outer = current.getStore()
    if (outer) return outer.savepoint(() => work(outer))
    const run = hasOneWrite ? () => work(notUndoable) : () => runInTransaction(sql, current, work)
    for (let tries = 1; ; tries += 1) {
      try {
        return await run()
      } catch (error) {
        if (runsOnce || tries >= maxTries || !isConflict(error)) throw error
      }
    }
  }
}

const notUndoable: TransactionControl = {
  undo() {
    throw new Error('Work with one write has no transaction to undo')
  },
}

async function runInTransaction<Result>(
  sql: SqlDriverAdapter,
  current: AsyncLocalStorage<JoinedTransaction>,
  work: (transaction: TransactionControl) => Promise<Result>,
): Promise<Result> {
  const transaction = await sql.startTransaction()
  const joined = new JoinedTransaction(transaction)
  let result: Result
  try {
    result = await current.run(joined, () => work(joined)).finally(() => joined.end())
    const failed = joined.conflict ?? joined.failure
    if (failed) throw failed.error
    if (!joined.isUndone) await endTransaction(transaction, 'COMMIT')
  } catch (error) {
    await rollBack(transaction)
    // The work may have caught the conflict and failed for another reason because of it.
    throw joined.conflict?.error ?? error
  }
  await (joined.isUndone ? rollBack(transaction) : transaction.commit())
  if (!joined.isUndone) for (const effect of joined.effects) effect()
  return result
}

export async function rollBack(transaction: Transaction): Promise<void> {
  await endTransaction(transaction, 'ROLLBACK').catch(() => undefined)
  await transaction.rollback()
}

/** Adapters without phantom queries leave COMMIT and ROLLBACK to their user, and only release the connection. */
export async function endTransaction(transaction: Transaction, sql: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  if (!transaction.options.usePhantomQuery) await transaction.executeRaw({ sql, args: [], argTypes: [] })
}
