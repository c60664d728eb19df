/** What the visitor can do about a failed operation depends on its kind. */
export type FailureKind =
  | 'unauthenticated'
  | 'forbidden'
  | 'limited'
  | 'unavailable'
  | 'unreachable'
  | 'input'
  | 'failed'

interface FailureDetails {
  /** In seconds. */
  readonly retryAfter?: number | undefined
  readonly requestId?: string | undefined
}

/** An operation that failed. */
export class Failure extends Error {
  readonly kind: FailureKind
  readonly retryAfter: number | undefined
  readonly requestId: string | undefined

  constructor(kind: FailureKind, message: string, { retryAfter, requestId }: FailureDetails = {}) {
    super(message)
    this.kind = kind
    this.retryAfter = retryAfter
    this.requestId = requestId
  }
}

/** An error that has been caught, as a failure. */
export const failureOf = (error: unknown): Failure =>
  error instanceof Failure ? error : new Failure('failed', String(error))
