import type { LimitName } from './limit-names.ts'

/**
 * Every error that a client may see: its code, its HTTP status and its title. Services throw a `GatewayError`; GraphQL
 * and REST format it. Any other error is a defect: it is logged whole and shown as INTERNAL.
 */
export const errorCodes = {
  MALFORMED_REQUEST: { status: 400, title: 'Malformed request' },
  TOO_EXPENSIVE: { status: 400, title: 'Operation too expensive' },
  BAD_USER_INPUT: { status: 422, title: 'Invalid input' },
  UNAUTHENTICATED: { status: 401, title: 'No valid API key or access token' },
  PERSISTED_QUERY_NOT_FOUND: { status: 200, title: 'Persisted query not found' },
  DOCUMENT_NOT_TRUSTED: { status: 403, title: 'Document not trusted' },
  FORBIDDEN: { status: 403, title: 'Not allowed' },
  TENANT_SUSPENDED: { status: 403, title: 'Tenant suspended' },
  NOT_FOUND: { status: 404, title: 'Not found' },
  NOT_ACCEPTABLE: { status: 406, title: 'No acceptable media type' },
  REQUEST_TIMEOUT: { status: 408, title: 'Request not complete in time' },
  IDEMPOTENCY_KEY_IN_USE: { status: 409, title: 'The first request with this key is still running' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'The idempotency key was used for another request' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'Method not allowed' },
  PRECONDITION_FAILED: { status: 412, title: 'The resource has changed' },
  PAYLOAD_TOO_LARGE: { status: 413, title: 'Body too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'Unsupported media type' },
  EXPECTATION_FAILED: { status: 417, title: 'Expectation failed' },
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  HEADERS_TOO_LARGE: { status: 431, title: 'Headers too large' },
  INTERNAL: { status: 500, title: 'Internal error' },
  SERVICE_UNAVAILABLE: { status: 503, title: 'Temporarily unavailable' },
} as const satisfies Record<string, { status: number; title: string }>

/** How long a client should wait before it tries again when the gateway is unavailable, in seconds. */
export const retryAfterSeconds = 5

/** A stable code: the same in GraphQL's `extensions.code` and in the `code` of a problem document. */
export type ErrorCode = keyof typeof errorCodes

export function isErrorCode(word: unknown): word is ErrorCode {
  return typeof word === 'string' && Object.hasOwn(errorCodes, word)
}

/** Why a field of an input was rejected. */
export type FieldErrorCode =
  | 'REQUIRED'
  | 'INVALID_TYPE'
  | 'INVALID_FORMAT'
  | 'TOO_LONG'
  | 'OUT_OF_RANGE'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'DUPLICATE'

/** A rejected field of an input: its path (`name`, `emails.0.value`), why, and what is accepted. */
export interface FieldError {
  readonly field: string
  readonly code: FieldErrorCode
  readonly message: string
}

interface GatewayErrorOptions extends ErrorOptions {
  readonly fields?: readonly FieldError[]
  /** Numbers for programs: what was requested and what is allowed. They become part of the response. */
  readonly details?: Readonly<Record<string, number>>
  readonly headers?: Readonly<Record<string, string>>
  /** The limit because of which the gateway refuses something. */
  readonly limit?: LimitName | undefined
  /** The row as it is now, if an input was rejected because it has changed. The payload of the mutation shows it. */
  readonly current?: unknown
}

/** An error for the client. Its message reveals nothing internal. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly fields: readonly FieldError[]
  readonly details: Readonly<Record<string, number>>
  readonly headers: Readonly<Record<string, string>>
  readonly limit: LimitName | undefined
  readonly current: unknown

  constructor(
    code: ErrorCode,
    message: string,
    { fields = [], details = {}, headers = {}, limit, current, ...options }: GatewayErrorOptions = {},
  ) {
    super(message, options)
    this.code = code
    this.fields = fields
    this.details = details
    this.headers = { ...headersByCode[code], ...headers }
    this.limit = limit
    this.current = current
  }
}

const headersByCode: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  UNAUTHENTICATED: { 'www-authenticate': 'ApiKey header="x-api-key", Bearer' },
  IDEMPOTENCY_KEY_IN_USE: { 'retry-after': '1' },
  SERVICE_UNAVAILABLE: { 'retry-after': String(retryAfterSeconds) },
}

export function withHeaders(error: GatewayError, headers: Readonly<Record<string, string>>): GatewayError {
  const { code, message, fields, details, limit } = error
  return new GatewayError(code, message, { fields, details, limit, headers: { ...error.headers, ...headers } })
}

/** The error of a request whose client has gone. Nobody sees it. */
export function clientHasGone(): GatewayError {
  return new GatewayError('SERVICE_UNAVAILABLE', 'The client has gone.')
}

export function invalidInput(fields: readonly FieldError[], current?: unknown): GatewayError {
  const summary = fields.map(({ field, message }) => `${field} ${message}`).join('; ')
  return new GatewayError('BAD_USER_INPUT', `Invalid input: ${summary}.`, { fields, current })
}

export function invalidField(field: string, code: FieldErrorCode, message: string): GatewayError {
  return invalidInput([{ field, code, message }])
}

/** An error that an operator can fix. The command line prints its message without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}
