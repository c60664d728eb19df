import type { FieldError } from './errors.ts'
import type { Subscribe } from './subscribe.ts'
import type { WaitReason } from './waits.ts'

/**
 * A function that returns the token. It gets the token that the gateway has rejected, and then returns another one: `createTokens` creates
 * such a function.
 */
export type Tokens = (rejected?: string) => Promise<string>

/** The options of every entry. */
export interface ClientOptions {
  /** `https://gateway.example.com/graphql`. */
  readonly url: string
  /** What `createTokens` returns, or a function of an identity provider. */
  readonly token?: Tokens
  /** The API key of a server. A page has a token instead. */
  readonly apiKey?: string
  /** The gateway names them in its usage, log and traces. */
  readonly clientName?: string
  readonly clientVersion?: string
  /** `persisted` sends the ids of documents that a compiler has stored, and never their texts. */
  readonly documents?: 'text' | 'persisted'
  /** Sends queries of the same moment together. The gateway needs `BATCHING=on`. Apollo Client and urql have it */
  readonly batch?: boolean
  /** `stream` sends each subscription by server-sent events, for networks without WebSockets. */
  readonly transport?: 'socket' | 'stream'
  /**
   * How often a query is sent that gets no response, or 502 to 504. By default a page sends it until the gateway answers or the query is
   * aborted, and a server 4 times.
   */
  readonly attempts?: number
  /**
   * Called when a request waits, for the page to show it, and with undefined when none waits any more.
   *
   * @param until the time of the next attempt, by the clock of the device
   */
  readonly onWait?: (until: Date | undefined, reason: WaitReason) => void
  /** Called once when the token backend answers 401: the session of the person has ended. */
  readonly onSignedOut?: () => void
}

/** The body of a request. One of `query` and `documentId` is given. */
export interface GraphQLRequest {
  readonly query?: string
  readonly documentId?: string
  readonly operationName?: string
  readonly variables?: Readonly<Record<string, unknown>>
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** A result of an operation. */
export interface Result {
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly errors?: readonly FieldError[]
  /** `position` is the position in the log of events before which the data was read: the argument `after` of `events`. */
  readonly extensions?: { readonly position?: string; readonly [key: string]: unknown }
}

/** What every entry sends with. */
export interface Core {
  readonly options: ClientOptions
  /**
   * `fetch` for the HTTP client of every library. A request with the header `idempotency-key` (`mutationHeaders`) is a mutation: without
   * a response it is sent up to 4 times with the same key. Other requests are queries. Responses with 409, 429 and 503 are awaited as
   * `Retry-After` says, up to two minutes. `init.signal` ends the waiting.
   *
   * @throws TokenError if the token backend answers without a token; TypeError if there is no response
   */
  readonly fetch: typeof globalThis.fetch
  /**
   * Subscribes, and subscribes again when the token or the connection ends. `events` continue after the last one if the document has the
   * variable `$after: ID`. Results without data and errors, which have a position only, are not passed on.
   *
   * `sink.error` gets RequestError if the gateway rejects the operation, and TokenError.
   *
   * @returns a function that ends the subscription
   */
  readonly subscribe: Subscribe
  /** Closes the WebSocket, and ends all subscriptions and waiting requests. */
  close(): void
}

/** Creates what every entry sends with. */
export declare function createCore(options: ClientOptions): Core

/** A document of a compiler or a text. `__apiType` has the types of the result and the variables. */
export interface TypedDocument<Data, Variables> {
  readonly __apiType?: (variables: Variables) => Data
  /** The hash of GraphQL Codegen. */
  readonly __meta__?: { readonly hash?: string }
  /** The id of gql.tada. */
  readonly documentId?: string
}
