import { patientFetch } from './patient-fetch.ts'
import type { Tokens } from './tokens.ts'

export interface Sent<Data> {
  readonly data: Data
  /** The paths of the fields that the token may not read, without positions: `users.nodes.email`. They are null. */
  readonly withheld: readonly string[]
}

export interface SendOptions {
  readonly signal?: AbortSignal
  /** The idempotency key of what a person did. A mutation has one of its own by default. */
  readonly action?: string
}

/**
 * Sends an operation.
 *
 * @throws SendError if a field failed for another reason than a missing scope
 */
export type Send = <Data>(query: string, variables?: object, options?: SendOptions) => Promise<Sent<Data>>

interface SentError {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly extensions?: { readonly code?: string }
}

/** The gateway answered with errors, so a null in the data may be a field that failed. */
export class SendError extends Error {
  readonly errors: readonly SentError[]
  readonly data: unknown

  constructor(errors: readonly SentError[], data: unknown) {
    super(errors.map(({ message }) => message).join(' '))
    this.errors = errors
    this.data = data
  }

  /** Whether the same query may succeed later. */
  get isTemporary(): boolean {
    return this.errors.every(({ extensions }) => extensions?.code === 'SERVICE_UNAVAILABLE')
  }
}

/** Creates the function that sends operations with `fetch` alone, and renews a token that is rejected. */
export function createSend(url: string, tokens: Tokens): Send {
  return async (query, variables = {}, { signal, action = crypto.randomUUID() } = {}) => {
    const post = (token: string) =>
      patientFetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
          // Queries ignore it.
          'idempotency-key': action,
        },
        body: JSON.stringify({ query, variables }),
        signal: signal ?? null,
      })
    let response = await post(await tokens.current())
    if (response.status === 401) response = await post(await tokens.renew())
    const { data, errors = [] } = (await response.json()) as { data?: never; errors?: SentError[] }
    const isForbidden = ({ extensions }: SentError) => extensions?.code === 'FORBIDDEN'
    if (!data || !errors.every(isForbidden)) throw new SendError(errors, data)
    return { data, withheld: errors.map(pathOf) }
  }
}

/** `users.nodes.email` of `['users', 'nodes', 0, 'email']`. */
export function pathOf({ path = [] }: Pick<SentError, 'path'>): string {
  return path.filter((part) => typeof part === 'string').join('.')
}
