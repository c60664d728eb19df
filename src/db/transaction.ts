import type { SqlDriverAdapter, SqlQueryable, Transaction } from '@prisma/driver-adapter-utils'

/** Runs statements of a driver adapter in one transaction: all of them count, or none. */
export async function inTransaction<Result>(
  adapter: SqlDriverAdapter,
  work: (sql: SqlQueryable) => Promise<Result>,
): Promise<Result> {
  const transaction = await adapter.startTransaction()
  let result: Result
  try {
    result = await work(transaction)
    await send(transaction, 'COMMIT')
  } catch (error) {
    await send(transaction, 'ROLLBACK').catch(() => undefined)
    await transaction.rollback()
    throw error
  }
  await transaction.commit()
  return result
}

/** An adapter without phantom queries leaves these to its user, and only gives the connection back by itself. */
async function send(transaction: Transaction, sql: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  if (!transaction.options.usePhantomQuery) await transaction.executeRaw({ sql, args: [], argTypes: [] })
}
