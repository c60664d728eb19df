/** An error of GraphQL, as the gateway sends it. */
export interface FieldError {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly extensions?: { readonly code?: string; readonly [key: string]: unknown }
}

/** The gateway did not execute the operation, or a field failed for another reason than a missing scope. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly errors: readonly FieldError[]
  readonly data: unknown

  constructor(errors: readonly FieldError[], data?: unknown) {
    super(errors.map(({ message }) => message).join(' ') || 'The gateway answered without a result.')
    this.errors = errors
    this.data = data
  }

  /** Whether the same query may succeed later. */
  get isTemporary(): boolean {
    return this.errors.length > 0 && this.errors.every(({ extensions }) => extensions?.code === 'SERVICE_UNAVAILABLE')
  }
}

/** What has answered in place of the gateway: a proxy, or another server. Its outcome is unknown. */
export function notGraphQL(status: number, headers: Headers, url: string): RequestError {
  const type = headers.get('content-type') ?? 'no content type'
  const code = status >= 500 ? 'SERVICE_UNAVAILABLE' : 'NOT_GRAPHQL'
  const hint = status >= 500 ? 'A proxy has answered in place of the gateway.' : 'Check the option `url`.'
  return new RequestError([
    { message: `${url} answered ${status} (${type}) without a result of GraphQL. ${hint}`, extensions: { code } },
  ])
}

/** The token backend answered without a token. `code` is that of `createTokenHandler`. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
  readonly status: number
  readonly code: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, message: string, code?: string, retryAfterSeconds?: number) {
    super(message)
    this.status = status
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }

  /** Whether the backend may answer with a token later. */
  get isTemporary(): boolean {
    return [429, 502, 503, 504].includes(this.status)
  }

  /** Whether the session of the person has ended. */
  get isSignedOut(): boolean {
    return this.status === 401
  }
}

/** Whether one of the errors that a client received has this code. Reads those of Apollo Client, urql and `send`. */
export const hasCode = (error: unknown, code: string): boolean =>
  errorsOf(error).some(({ extensions }) => extensions?.code === code)

/** The errors of GraphQL within a result, or within what a client has thrown or returned. */
export function errorsOf(error: unknown): readonly FieldError[] {
  const { errors, graphQLErrors, networkError } = (error ?? {}) as Failure
  return graphQLErrors?.length ? graphQLErrors : (errors ?? networkError?.errors ?? [])
}

/** `networkError` of urql is what the core has thrown. */
interface Failure {
  readonly errors?: readonly FieldError[]
  readonly graphQLErrors?: readonly FieldError[]
  readonly networkError?: Failure
}

/** The code of the error for which a field is null, such as FORBIDDEN. Undefined: the value is unknown. */
export type Withheld = (path: string) => string | undefined

/**
 * Tells values that were withheld from unknown ones: both are null.
 *
 * @returns a function of a path without positions: `withheld('users.nodes.email')`. What is within a field that failed
 *   is withheld too
 */
export function createWithheld(errors: readonly FieldError[] = []): Withheld {
  const failed = errors.map(({ path = [], extensions }) => ({
    path: path.filter((part) => typeof part === 'string').join('.'),
    code: extensions?.code ?? 'INTERNAL',
  }))
  return (path) => failed.find((error) => `${path}.`.startsWith(`${error.path}.`))?.code
}
