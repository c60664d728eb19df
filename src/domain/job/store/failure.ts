/** How long a failed attempt delays the next one: the delay doubles with each attempt, up to the maximum. */
export interface Backoff {
  readonly delaySeconds: number
  readonly maxDelaySeconds: number
}

/** Why an attempt failed, and whether another attempt can succeed. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly isRetryable: boolean
  /** The job is due again no earlier than after this. At most a day counts. */
  readonly retryAfterSeconds?: number
}

/** A handler passes on what another server says, which can be any number. */
const maxRetryAfterSeconds = 24 * 60 * 60

/**
 * The parameters with which a statement ends a failed attempt: its error, whether there is another attempt, and when.
 *
 * @returns six values
 */
export function failureParameters(failure: Failure, { delaySeconds, maxDelaySeconds }: Backoff): readonly string[] {
  const { code, message, isRetryable, retryAfterSeconds = 0 } = failure
  return [
    code,
    message,
    String(isRetryable),
    String(delaySeconds),
    String(maxDelaySeconds),
    String(Math.min(Math.max(retryAfterSeconds, 0) || 0, maxRetryAfterSeconds)),
  ]
}
