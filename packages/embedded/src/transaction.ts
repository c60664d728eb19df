import type { PGlite, Transaction } from '@electric-sql/pglite'
import type { OpenTransaction } from '@fusion-gateway/sql'

interface BegunTransaction extends Pick<OpenTransaction, 'end'> {
  readonly transaction: Transaction
}

/** Begins a transaction, when the one before has ended: there is a single session. */
export function beginTransaction(pglite: PGlite): Promise<BegunTransaction> {
  return new Promise((resolve, reject) => {
    const ended = pglite.transaction(
      (transaction) =>
        new Promise<void>((finish) => {
          resolve({
            transaction,
            async end(how) {
              if (how === 'ROLLBACK') await transaction.rollback()
              finish()
              await ended
            },
          })
        }),
    )
    ended.catch(reject)
  })
}
