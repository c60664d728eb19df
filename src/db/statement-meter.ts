import { AsyncLocalStorage } from 'node:async_hooks'
import { clientHasGone } from '../errors.ts'
import type { StatementObserver } from './observed-adapter.ts'
import type { MayLag } from './route-reads.ts'

/** The SQL statements of one request. */
export interface StatementCount {
  /** How many it has sent so far. */
  statements: number
  /** Whether nobody waits for its answer any more: no further statement is sent then, but to end a transaction. */
  isAbandoned?: boolean
  /** Whether it only reads, and may see rows as they were a moment ago. */
  mayLag?: boolean
  /** Shown each of them, where the request is traced. */
  observe?: StatementObserver | undefined
}

/** Tells whose statement it is that passes the driver adapter. */
export interface StatementMeter {
  /** To be given to `openDatabase`. */
  readonly observe: StatementObserver
  /** Whether what is sent now may go to a replica. To be given to `openDatabase`. */
  readonly mayLag: MayLag
  /** Adds the statements that `work` sends, however deep and late, to a count. */
  run<Result>(count: StatementCount, work: () => Result): Result
}

/** What ends a transaction, or a part of it. */
const endings = /^(COMMIT|ROLLBACK|RELEASE)\b/

/**
 * A meter for one process. Statements sent outside of `run` are nobody's.
 *
 * @param onEnd told how long each statement took, whoever sent it, and whether it failed
 */
export function createStatementMeter(
  onEnd: (seconds: number, hasFailed: boolean) => void = () => undefined,
): StatementMeter {
  const storage = new AsyncLocalStorage<StatementCount>()
  return {
    observe(sql) {
      const count = storage.getStore()
      if (count?.isAbandoned && !endings.test(sql)) {
        throw clientHasGone()
      }
      if (count) count.statements += 1
      const end = count?.observe?.(sql)
      const began = performance.now()
      return (error) => {
        onEnd((performance.now() - began) / 1_000, error !== undefined)
        end?.(error)
      }
    },
    mayLag() {
      const count = storage.getStore()
      return count?.mayLag ? count : undefined
    },
    run: (count, work) => storage.run(count, work),
  }
}
