/**
 * Every error that a caller may see, in one registry: its code, the status that HTTP gives it, its title.
 * A service throws a `GatewayError`; the two faces decide how it looks. Whatever is thrown that is not one is
 * a defect of ours: it is logged whole and shown as INTERNAL.
 */
export const errorCodes = {
  MALFORMED_REQUEST: { status: 400, title: 'Malformed request' },
  TOO_EXPENSIVE: { status: 400, title: 'Operation too expensive' },
  BAD_USER_INPUT: { status: 422, title: 'Invalid input' },
  UNAUTHENTICATED: { status: 401, title: 'No valid API key' },
  PERSISTED_QUERY_NOT_FOUND: { status: 200, title: 'Persisted query not found' },
  DOCUMENT_NOT_TRUSTED: { status: 403, title: 'Document not trusted' },
  FORBIDDEN: { status: 403, title: 'The API key lacks a scope' },
  NOT_FOUND: { status: 404, title: 'Not found' },
  NOT_ACCEPTABLE: { status: 406, title: 'No acceptable media type' },
  REQUEST_TIMEOUT: { status: 408, title: 'Request not complete in time' },
  IDEMPOTENCY_KEY_IN_USE: { status: 409, title: 'The first request with this key is still running' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'The idempotency key was used for something else' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'Method not allowed' },
  PAYLOAD_TOO_LARGE: { status: 413, title: 'Body too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'Unsupported media type' },
  RATE_LIMITED: { status: 429, title: 'Too many points in a minute' },
  HEADERS_TOO_LARGE: { status: 431, title: 'Headers too large' },
  INTERNAL: { status: 500, title: 'Internal error' },
  SERVICE_UNAVAILABLE: { status: 503, title: 'Temporarily unavailable' },
} as const satisfies Record<string, { status: number; title: string }>

/** How long a client should wait before it asks again, in seconds, when the gateway cannot answer. */
export const retryAfterSeconds = 5

/** A stable, documented code: the same word in GraphQL's `extensions.code` and in a problem document's `code`. */
export type ErrorCode = keyof typeof errorCodes

/** Whether a word is one of the codes. */
export function isErrorCode(word: unknown): word is ErrorCode {
  return typeof word === 'string' && Object.hasOwn(errorCodes, word)
}

/** Why one input field was refused. */
export type FieldErrorCode =
  | 'REQUIRED'
  | 'INVALID_TYPE'
  | 'INVALID_FORMAT'
  | 'TOO_LONG'
  | 'OUT_OF_RANGE'
  | 'NOT_FOUND'
  | 'CONFLICT'

/** One refused input field: where it is (`name`, or `input.emails[0]`), why, and what would be accepted. */
export interface FieldError {
  readonly field: string
  readonly code: FieldErrorCode
  readonly message: string
}

/** An error that may be shown to a caller as it is: its message holds nothing of our insides. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly fields: readonly FieldError[]
  /** Numbers that a program may want: what was asked, and what would be allowed. */
  readonly details: Readonly<Record<string, number>>

  constructor(
    code: ErrorCode,
    message: string,
    fields: readonly FieldError[] = [],
    { details = {}, ...options }: ErrorOptions & { readonly details?: Readonly<Record<string, number>> } = {},
  ) {
    super(message, options)
    this.code = code
    this.fields = fields
    this.details = details
  }
}

/** What a request is given up with when nobody waits for its answer any more. */
export function clientHasGone(): GatewayError {
  return new GatewayError('SERVICE_UNAVAILABLE', 'The client has gone.')
}

/** A refused input: one entry a field. */
export function invalidInput(fields: readonly FieldError[]): GatewayError {
  const summary = fields.map((field) => `${field.field} ${field.message}`).join('; ')
  return new GatewayError('BAD_USER_INPUT', `Invalid input: ${summary}.`, fields)
}

/** A single refused input field. */
export function invalidField(field: string, code: FieldErrorCode, message: string): GatewayError {
  return invalidInput([{ field, code, message }])
}
