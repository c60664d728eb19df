import { errorsOf, TokenError } from './errors.ts'

/** What an error of a mutation means for the person who has sent a form. */
export interface Failure {
  /** For the person, in English. An application in another language chooses its own text by `isUnknown` and `code`. */
  readonly message: string
  /**
   * For developers: the code of the gateway or of the token backend, `NO_RESPONSE`, or `INTERNAL`, if the error is none
   * of a request.
   */
  readonly code: string
  /** The mutation may be executed, or still run. With the same `createAction`, another click executes it once. */
  readonly isUnknown: boolean
}

/** The gateway may still execute the request, or have executed it. */
const unknownOutcomes = [
  'SERVICE_UNAVAILABLE',
  'REQUEST_TIMEOUT',
  'RATE_LIMITED',
  'IDEMPOTENCY_KEY_IN_USE',
  'INTERNAL',
  'NOT_GRAPHQL',
]

const messages = new Map([
  ['FORBIDDEN', 'Not saved: you may not change this.'],
  ['UNAUTHENTICATED', 'Not saved: sign in again, and then try again.'],
  ['SIGNED_OUT', 'Not saved: sign in again, and then try again.'],
  ['TENANT_SUSPENDED', 'Not saved: the service is not available at the moment.'],
  ['PERSON_CHANGED', 'Not known whether this was saved: somebody else has signed in.'],
])

/**
 * Says what a form shows when its mutation has failed: a text for the person, and a code for developers.
 *
 * @param error what `createAction`, Apollo Client, urql, Relay or `send` has thrown or returned
 */
export function failureOf(error: unknown): Failure {
  const code = codeOf(error)
  const isTokenMissing = tokenErrorOf(error) !== undefined
  const isUnknown = !isTokenMissing && !isAnswer(error)
  const unknown = 'Not saved, or not known: try again. Nothing is saved twice.'
  const other = isTokenMissing ? 'Not saved: try again.' : `Not saved (${code}).`
  return { message: messages.get(code) ?? (isUnknown ? unknown : other), code, isUnknown }
}

function codeOf(error: unknown): string {
  const [first] = errorsOf(error)
  if (first) return String(first.extensions?.code ?? 'INTERNAL')
  const tokenError = tokenErrorOf(error)
  if (tokenError) return tokenError.isSignedOut ? 'SIGNED_OUT' : (tokenError.code ?? 'TOKEN_BACKEND')
  return causeOf(error) instanceof TypeError ? 'NO_RESPONSE' : 'INTERNAL'
}

/** Without a token, nothing was sent. */
function tokenErrorOf(error: unknown): TokenError | undefined {
  const cause = causeOf(error)
  return cause instanceof TokenError ? cause : undefined
}

/** What the core has thrown. urql wraps it. */
const causeOf = (error: unknown) => ((error ?? {}) as { readonly networkError?: unknown }).networkError ?? error

/** Whether the gateway has answered that it does not execute the request, or has executed it. */
export function isAnswer(error: unknown): boolean {
  const errors = errorsOf(error)
  return errors.length > 0 && !errors.some(({ extensions }) => unknownOutcomes.includes(String(extensions?.code)))
}
