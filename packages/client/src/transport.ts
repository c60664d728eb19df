import type { GraphQLRequest, Result } from './request.ts'
import type { Waits } from './waits.ts'
import type { Writes } from './writes.ts'

export interface Sink<Failure = Error> {
  next(result: Result): void
  error(error: Failure): void
  complete(): void
}

/** Sends a subscription once. */
export type Transport = (request: GraphQLRequest, sink: Sink<unknown>) => () => void

/** What the core has for subscriptions. */
export interface Connection {
  readonly url: string
  readonly transport: 'socket' | 'stream'
  readonly fetch: typeof globalThis.fetch
  readonly waits: Waits
  readonly writes: Writes
  /** The token, and another one if the gateway has rejected it. */
  readToken(rejected?: string): Promise<string | undefined>
  /** The headers of a request. */
  headersOf(token: string | undefined): Record<string, string>
  /** Ends all subscriptions. */
  readonly signal: AbortSignal
  /** Ends with the person who is signed in. */
  stay(): AbortSignal
}
