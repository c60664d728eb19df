import { AsyncLocalStorage } from 'node:async_hooks'
import { clientHasGone } from '../errors.ts'
import type { StatementObserver } from './adapter.ts'

/** The SQL statements of one request. */
export interface StatementCount {
  /** How many were sent so far. */
  statements: number
  /** Whether the client has gone: only statements that end a transaction are sent then. */
  isAbandoned?: boolean
  /** Whether the request only reads, and may read rows that are slightly out of date. */
  mayLag?: boolean
  readonly requestId?: string
  /** The tenant of the request. */
  tenantAppId?: string | undefined
  /** Who its writes are queued for. */
  payer?: object
  /** Who writes, for the event log: the id of a key and of a request, separated by a space. */
  actor?: string
  /** Observes each statement, if the request is traced. */
  observe?: StatementObserver | undefined
  /** How long it has waited, if that is measured. */
  waits?: Waits
}

/** The time in which a request waits for statements or in queues. The rest of its time it keeps the event loop busy. */
export interface Waits {
  /** What it waits for now. */
  pending: number
  /** Since when, in the milliseconds of `performance.now()`. */
  since: number
  /** The sum of the waits that have ended, in milliseconds. */
  milliseconds: number
}

function beginWait(waits: Waits): void {
  if (waits.pending === 0) waits.since = performance.now()
  waits.pending += 1
}

function endWait(waits: Waits): void {
  waits.pending -= 1
  if (waits.pending === 0) waits.milliseconds += performance.now() - waits.since
}

/** Waits for work, and counts the time as waiting. */
export async function waitFor<Result>({ waits }: StatementCount, work: () => Promise<Result>): Promise<Result> {
  if (!waits) return work()
  beginWait(waits)
  try {
    return await work()
  } finally {
    endWait(waits)
  }
}

export type StatementMeter = ReturnType<typeof createStatementMeter>

/** Statements that end a transaction or a savepoint. */
const endings = /^(COMMIT|ROLLBACK|RELEASE)\b/

/**
 * Creates the meter of a process, which attributes statements to requests. Statements sent outside of `run` belong to
 * no request.
 *
 * @param onEnd called with the duration of each statement and whether it failed
 */
export function createStatementMeter(onEnd: (seconds: number, hasFailed: boolean) => void = () => undefined) {
  const storage = new AsyncLocalStorage<StatementCount>()
  return {
    /** Observes the statements of a database. */
    observe(sql: string): ReturnType<StatementObserver> {
      const count = storage.getStore()
      if (count?.isAbandoned && !endings.test(sql)) throw clientHasGone()
      if (count) count.statements += 1
      const end = count?.observe?.(sql)
      const startedAt = performance.now()
      const waits = count?.waits
      if (waits) beginWait(waits)
      return (error) => {
        if (waits) endWait(waits)
        onEnd((performance.now() - startedAt) / 1_000, error !== undefined)
        end?.(error)
      }
    },
    /** The request that the statements sent now belong to, if replicas may serve its reads. */
    laggingReader(): object | undefined {
      const count = storage.getStore()
      return count?.mayLag ? count : undefined
    },
    /** The tenant of the request that sends the statements now. */
    tenant: (): string | undefined => storage.getStore()?.tenantAppId,
    /** Who the writes that are sent now are queued for; undefined for those of the gateway itself. */
    payer: (): object | undefined => storage.getStore()?.payer,
    /** Waits for work, and counts the time as waiting for the request that sends the statements now. */
    wait<Result>(work: () => Promise<Result>): Promise<Result> {
      const count = storage.getStore()
      return count ? waitFor(count, work) : work()
    },
    /** Who sends the statements now. */
    actor: (): string | undefined => storage.getStore()?.actor,
    /** Runs work and adds the statements that it sends to a count. */
    run: <Result>(count: StatementCount, work: () => Result): Result => storage.run(count, work),
  }
}

/** Runs work whose statements are counted and traced for a request, and sent even if its client has gone. */
export async function runAttributed<Result>(
  meter: StatementMeter,
  request: StatementCount,
  work: () => Promise<Result>,
): Promise<Result> {
  const { tenantAppId, observe } = request
  const own: StatementCount = { statements: 0, tenantAppId, observe }
  try {
    return await meter.run(own, work)
  } finally {
    request.statements += own.statements
  }
}
