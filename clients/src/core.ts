import { TokenError } from './errors.ts'
import { createSubscribe, type Subscribe } from './subscribe.ts'
import { createWaits, type WaitReason } from './waits.ts'

/**
 * A function that returns the token. It gets the token that the gateway has rejected, and then returns another one: `createTokens` creates
 * such a function.
 */
export type Tokens = (rejected?: string) => Promise<string>

/** The options of every entry. */
export interface ClientOptions {
  /** `https://gateway.example.com/graphql`. */
  readonly url: string
  /** What `createTokens` returns, or a function that returns the token of an identity provider. */
  readonly token?: Tokens
  /** The API key of a server. A page has a token instead. */
  readonly apiKey?: string
  /** The gateway names both in its usage, log and traces. */
  readonly clientName?: string
  readonly clientVersion?: string
  /** `persisted` sends the ids of documents that a compiler has stored, and never their texts. */
  readonly documents?: 'text' | 'persisted'
  /** Sends the queries of one moment together. The gateway needs `BATCHING=on`. For Apollo Client and urql. */
  readonly batch?: boolean
  /** `stream` sends each subscription as server-sent events, for networks without WebSockets. */
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
  /** Called when the token backend answers 401: the session of the person has ended. */
  readonly onSignedOut?: () => void
}

/** What every entry sends with. */
export interface Core {
  readonly options: ClientOptions
  /**
   * `fetch` for the HTTP client of every library. A request with the header `idempotency-key` (`mutationHeaders`) is a mutation: without
   * a response it is sent up to 4 times with the same key. Other requests are queries. 409, 429 and 503 are awaited as `Retry-After`
   * says, up to two minutes. `init.signal` ends the waiting.
   *
   * @throws TokenError if the token backend answers without a token; TypeError if there is no response
   */
  readonly fetch: typeof globalThis.fetch
  /**
   * Subscribes, and subscribes again when the token or the connection ends. `events` continue after the last one if the document has the
   * variable `$after: ID`. Results without data and errors, which only have a position, are not passed on. The errors of `sink.error` are
   * RequestError, if the gateway rejects the operation, and TokenError.
   *
   * @returns a function that ends the subscription
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
  const { token, apiKey, clientName, clientVersion, onWait, onSignedOut } = options
  const closed = new AbortController()
  const waits = createWaits(onWait, closed.signal)
  const isPage = typeof window !== 'undefined'
  const { attempts = isPage ? Number.POSITIVE_INFINITY : maxAttempts } = options
  const names = {
    ...(clientName && { 'graphql-client-name': clientName }),
    ...(clientVersion && { 'graphql-client-version': clientVersion }),
  }
  let isSignedOut = false
  let sent: string | undefined

  /** The token, and another one if the gateway has rejected it. */
  async function readToken(rejected?: string): Promise<string | undefined> {
    try {
      sent = await token?.(rejected)
      isSignedOut = false
      return sent
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
    ...names,
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
    readHeaders: async () => headersOf(await readToken()),
    async renewToken() {
      const rejected = sent
      return (await readToken(rejected)) !== rejected
    },
    signal: closed.signal,
  })
  return { options, fetch, subscribe, close: () => closed.abort(new Error('The client is closed.')) }
}

/** Why a request is sent again. Undefined: it is not. */
function retryOf(
  outcome: Response | { readonly error: unknown },
): { reason: WaitReason; seconds?: number } | undefined {
  if ('error' in outcome) {
    const { error } = outcome
    if (!(error instanceof TokenError)) return error instanceof TypeError ? { reason: 'offline' } : undefined
    return reasonOf(error.status, error.retryAfterSeconds)
  }
  const header = outcome.headers.get('retry-after')
  return reasonOf(outcome.status, header === null ? undefined : Number(header))
}

function reasonOf(
  status: number,
  retryAfter: number | undefined,
): { reason: WaitReason; seconds?: number } | undefined {
  const wait = Number.isFinite(retryAfter) && { seconds: Number(retryAfter) }
  if ([502, 503, 504].includes(status)) return { reason: 'unavailable', ...wait }
  // 409: the first request with this idempotency key still runs.
  return wait && [409, 429].includes(status) ? { reason: 'limited', ...wait } : undefined
}

/** Reads a response, so that a connection that breaks in the middle is no response. Streams are passed on. */
async function readWhole(response: Response): Promise<Response> {
  const isStream = /^(text\/event-stream|multipart\/)/.test(response.headers.get('content-type') ?? '')
  if (isStream || !response.body) return response
  const { status, statusText, headers } = response
  return new Response(await response.arrayBuffer(), { status, statusText, headers })
}
