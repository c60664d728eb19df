import { TokenError } from './errors.ts'
import { createSubscribe, type Subscribe } from './subscribe.ts'
import { createWaits, retryAfterOf, type WaitReason } from './waits.ts'

/** Returns the token, and another one if it gets the token that the gateway has rejected, as that of `createTokens`. */
export type Tokens = (rejected?: string) => Promise<string>

/** The options of every entry. docs/frontends.md describes them. */
export interface ClientOptions {
  /** `https://gateway.example.com/graphql`. */
  readonly url: string
  readonly token?: Tokens
  /** The API key of a server. A page has a token instead. */
  readonly apiKey?: string
  readonly clientName?: string
  readonly clientVersion?: string
  /** `persisted` sends the ids of documents that a compiler has stored, and never their texts. */
  readonly documents?: 'text' | 'persisted'
  /** Sends the queries of one moment together. The gateway needs `BATCHING=on`. For Apollo Client. */
  readonly batch?: boolean
  /** `stream` sends each subscription as server-sent events, for networks without WebSockets. */
  readonly transport?: 'socket' | 'stream'
  /** How often a query is sent that gets no response, or 502 to 504. No limit in a page by default, and 4 elsewhere. */
  readonly attempts?: number
  /**
   * Called when a request waits, for the page to show it, and with undefined when none waits any more.
   *
   * @param until the time of the next attempt, by the clock of the device
   */
  readonly onWait?: (until: Date | undefined, reason: WaitReason) => void
  /** Called when the token backend answers 401: the session of the person has ended. */
  readonly onSignedOut?: () => void
}

/** What every entry sends with. */
export interface Core {
  /**
   * `fetch` for the HTTP client of every library. A request with the header `idempotency-key` (`mutationHeaders`) is a
   * mutation: without a response it is sent up to 4 times with the same key. Other requests are queries. 409, 429 and
   * 503 are awaited as `Retry-After` says, up to two minutes. `init.signal` ends the waiting.
   *
   * @throws TokenError if the token backend answers without a token; TypeError if there is no response
   */
  readonly fetch: typeof globalThis.fetch
  /**
   * Subscribes, and subscribes again when the token or the connection ends. `events` continue after the last one if the
   * document has the variable `$after: ID`. Results that only have a position are not passed on. `sink.error` gets
   * RequestError, if the gateway rejects the operation, and TokenError.
   */
  readonly subscribe: Subscribe
  /** Ends all subscriptions and waiting requests. */
  close(): void
}

/** A mutation, and a request that was limited, are sent so often. */
const maxAttempts = 4

/** A request that must wait longer fails, with the response that says so. */
const maxRetryAfterSeconds = 120

/** Creates what every entry sends with. */
export function createCore(options: ClientOptions): Core {
  const { token, apiKey, onWait, onSignedOut } = options
  const closed = new AbortController()
  const waits = createWaits(onWait, closed.signal)
  const isPage = typeof window !== 'undefined'
  const { attempts = isPage ? Number.POSITIVE_INFINITY : maxAttempts } = options
  let isSignedOut = false

  /** The token, and another one if the gateway has rejected it. */
  async function readToken(rejected?: string): Promise<string | undefined> {
    try {
      const read = await token?.(rejected)
      isSignedOut = false
      return read
    } catch (error) {
      if (error instanceof TokenError && error.isSignedOut && !isSignedOut) {
        isSignedOut = true
        onSignedOut?.()
      }
      throw error
    }
  }

  /** The headers of a request, which the first message of a WebSocket has too. */
  const headersOf = (current: string | undefined): Record<string, string> => ({
    ...nameHeaders(options),
    ...(current === undefined ? apiKey && { 'x-api-key': apiKey } : { authorization: `Bearer ${current}` }),
  })

  /** Sends a request once, or twice if its token is rejected. */
  async function send(input: RequestInfo | URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
    let current = await readToken()
    for (let isRenewed = false; ; isRenewed = true) {
      signal.throwIfAborted()
      const headers = new Headers(init.headers)
      for (const [name, value] of Object.entries(headersOf(current))) headers.set(name, value)
      const response = await globalThis.fetch(input, { ...init, headers, signal })
      if (response.status !== 401 || current === undefined || isRenewed) return await readWhole(response)
      const renewed = await readToken(current)
      if (renewed === current) return response
      await response.body?.cancel()
      current = renewed
    }
  }

  const fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const signal = init.signal ? AbortSignal.any([init.signal, closed.signal]) : closed.signal
    const isMutation = new Headers(init.headers).has('idempotency-key')
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await send(input, init, signal).catch((error: unknown) => ({ error }))
      const retry = retryOf(outcome)
      if ('status' in outcome && retry?.reason !== 'unavailable') waits.wake()
      const most = isMutation || retry?.reason === 'limited' ? maxAttempts : attempts
      if (!retry || signal.aborted || attempt >= most || (retry.seconds ?? 0) > maxRetryAfterSeconds) {
        if ('error' in outcome) throw outcome.error
        return outcome
      }
      await waits.wait(attempt, retry.reason, retry.seconds, signal)
    }
  }

  const subscribe = createSubscribe({
    url: options.url,
    transport: options.transport ?? 'socket',
    fetch,
    waits,
    readToken,
    headersOf,
    signal: closed.signal,
  })
  return { fetch, subscribe, close: () => closed.abort(new Error('The client is closed.')) }
}

/** The headers that name a client. */
export const nameHeaders = ({ clientName, clientVersion }: Pick<ClientOptions, 'clientName' | 'clientVersion'>) => ({
  ...(clientName && { 'graphql-client-name': clientName }),
  ...(clientVersion && { 'graphql-client-version': clientVersion }),
})

/** Why a request is sent again, and after how many seconds if the gateway says so. Undefined: it is not. */
function retryOf(outcome: Response | { readonly error: unknown }) {
  if ('status' in outcome) return retryAfter(outcome.status, retryAfterOf(outcome.headers))
  const { error } = outcome
  if (error instanceof TokenError) return retryAfter(error.status, error.retryAfterSeconds)
  return error instanceof TypeError ? { reason: 'offline' as const, seconds: undefined } : undefined
}

function retryAfter(status: number, seconds: number | undefined) {
  if ([502, 503, 504].includes(status)) return { reason: 'unavailable' as const, seconds }
  // 409: the first request with this idempotency key still runs.
  const isLimited = seconds !== undefined && [409, 429].includes(status)
  return isLimited ? { reason: 'limited' as const, seconds } : undefined
}

/** Reads a response, so that a connection that breaks in the middle is no response. Streams are passed on. */
async function readWhole(response: Response): Promise<Response> {
  const isStream = /^(text\/event-stream|multipart\/)/.test(response.headers.get('content-type') ?? '')
  return isStream || !response.body ? response : new Response(await response.arrayBuffer(), response)
}
