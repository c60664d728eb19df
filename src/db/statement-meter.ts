import { AsyncLocalStorage } from 'node:async_hooks'
import type { StatementObserver } from './observed-adapter.ts'

/** How many SQL statements one request has sent so far. */
export interface StatementCount {
  statements: number
}

/** Tells whose statement it is that passes the driver adapter. */
export interface StatementMeter {
  /** To be given to `openDatabase`. */
  readonly observe: StatementObserver
  /** Adds the statements that `work` sends, however deep and late, to a count. */
  run<Result>(count: StatementCount, work: () => Result): Result
}

/** A meter for one process. Statements sent outside of `run` are nobody's. */
export function createStatementMeter(): StatementMeter {
  const storage = new AsyncLocalStorage<StatementCount>()
  return {
    observe() {
      const count = storage.getStore()
      if (count) count.statements += 1
    },
    run: (count, work) => storage.run(count, work),
  }
}
