/** Called when a statement has ended, with its error if it failed. */
export type StatementEnd = (error?: unknown) => void

/**
 * Called with the text of each statement before it is sent. The statement is not sent if the observer throws. The
 * function that it returns is called when the statement has ended.
 */
export type StatementObserver = (text: string) => StatementEnd | undefined

/** What a request, or other work of the gateway, carries to the database, and what is counted of it. */
export interface RequestDatabase {
  /** How many statements were sent so far. */
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
export async function waitFor<Result>({ waits }: RequestDatabase, work: () => Promise<Result>): Promise<Result> {
  if (!waits) return work()
  beginWait(waits)
  try {
    return await work()
  } finally {
    endWait(waits)
  }
}
