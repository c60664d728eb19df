import type { LimitName } from '../limit-names.ts'
import type { Metrics } from './metrics.ts'

/**
 * Remembers which limit has refused a request, or a part of it, for its line in the log. The metrics count it once for
 * each request.
 */
export class Refusal {
  /** The first limit that has refused something. */
  limit: LimitName | undefined
  readonly #metrics: Pick<Metrics, 'countRefusal'>

  constructor(metrics: Pick<Metrics, 'countRefusal'>) {
    this.#metrics = metrics
  }

  /** Notes an error that becomes a response. Errors that no limit has caused count nothing. */
  note(error: unknown): void {
    const limit = limitOf(error)
    if (limit === undefined || this.limit !== undefined) return
    this.limit = limit
    this.#metrics.countRefusal(limit)
  }
}

/** The limit that has caused an error, or an error which GraphQL has wrapped. */
function limitOf(error: unknown): LimitName | undefined {
  let cause = error as { readonly limit?: LimitName | undefined; readonly originalError?: unknown } | null | undefined
  while (cause && cause.limit === undefined) cause = cause.originalError as typeof cause
  return cause?.limit
}
