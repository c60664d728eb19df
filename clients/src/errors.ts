/** An error of GraphQL, as the gateway sends it. */
export interface FieldError {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly extensions?: { readonly code?: string; readonly [key: string]: unknown }
}

/** The gateway answered, and did not execute the operation, or a field failed for another reason than a missing scope. */
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

/** The token backend answered without a token. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
  readonly status: number
  /** What `createTokenHandler` says: `DOCUMENT_NOT_TRUSTED`, for example. */
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

/** Whether one of the errors that a client received has this code. Reads the errors of Apollo Client, urql and `send`. */
export function hasCode(error: unknown, code: string): boolean {
  return errorsOf(error).some(({ extensions }) => extensions?.code === code)
}

/** The errors of GraphQL within what a client has thrown or returned. */
export function errorsOf(error: unknown): readonly FieldError[] {
  const { errors, graphQLErrors } = (error ?? {}) as Partial<Record<'errors' | 'graphQLErrors', readonly FieldError[]>>
  return graphQLErrors ?? errors ?? []
}

/** `users.nodes.email` of `['users', 'nodes', 0, 'email']`. */
export function pathOf({ path = [] }: Pick<FieldError, 'path'>): string {
  return path.filter((part) => typeof part === 'string').join('.')
}

/** The code of the error for which a field is null, such as FORBIDDEN or SERVICE_UNAVAILABLE. Undefined: the value is unknown. */
export type Withheld = (path: string) => string | undefined

/**
 * Tells values that were withheld from unknown ones: both are null.
 *
 * @returns a function of a path without positions: `withheld('users.nodes.email')`. A field within one that failed is withheld too
 */
export function createWithheld(errors: readonly FieldError[] = []): Withheld {
  const codes = new Map(errors.map((error) => [pathOf(error), error.extensions?.code ?? 'INTERNAL']))
  return (path) => {
    const parts = path.split('.')
    for (let length = parts.length; length > 0; length -= 1) {
      const code = codes.get(parts.slice(0, length).join('.'))
      if (code) return code
    }
    return undefined
  }
}
