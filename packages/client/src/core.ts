import { notGraphQL, TokenError } from './errors.ts'
import { personChanged, personOf } from './person.ts'
import { createSubscribe, type Subscribe } from './subscribe.ts'
import { createWaits, retryAfterOf, type WaitReason } from './waits.ts'
import { createWrites } from './writes.ts'

/** Returns the token, and another one if it gets the token that the gateway has rejected, as that of `createTokens`. */
export interface Tokens {
  (rejected?: string): Promise<string>
  /** Calls back at each sign-out, until the signal ends. */
  readonly onSignOut?: (listener: () => void, signal: AbortSignal) => void
}

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
  /**
   * Called when the person has signed out, or the token is that of another person. The client has forgotten what it kept: empty what the
   * page keeps besides, such as the cache of TanStack Query.
   */
  readonly onPersonChange?: () => void
}

/** What every entry sends with. */
export interface Core {
  /**
   * `fetch` for the HTTP client of every library. A request with the header `idempotency-key` (`mutationHeaders`) is a
   * mutation: without a response it is sent up to 4 times with the same key. Other requests are queries. 409, 429 and
   * 503 are awaited as `Retry-After` says, up to two minutes. `init.signal` ends the waiting. A query that another person
   * has begun is sent again.
   *
   * @throws RequestError with PERSON_CHANGED, if another person has begun a mutation, and if the response is not one of the gateway; TokenError if the token backend answers without a token; TypeError if there is no response
   */
  readonly fetch: typeof globalThis.fetch
  /**
   * Subscribes, and subscribes again when the token or the connection ends. `events` continue after the last one if the
   * document has the variable `$after: ID`, and live queries are read anew. Results that only have a position are not
   * passed on. `sink.error` gets RequestError, if the gateway rejects the operation, and TokenError.
   */
  readonly subscribe: Subscribe
  /** Ends all subscriptions and waiting requests. */
  close(): void
}

/** A mutation, and a request that was limited, are sent so often. */
const maxAttempts = 4

/** A request that must wait longer fails, with the response that says so. */
const maxRetryAfterSeconds = 120

/**
 * Creates what every entry sends with.
 *
 * @param forget empties what a library keeps of the person before, and reads again what is shown
 */
export function createCore(options: ClientOptions, forget = () => {}): Core {
  const { apiKey, onWait } = options
  const closed = new AbortController()
  const session = createSession(options, closed.signal, forget)
  const waits = createWaits(onWait, closed.signal)
  const writes = createWrites()
  const isPage = typeof window !== 'undefined'
  const { attempts = isPage ? Number.POSITIVE_INFINITY : maxAttempts } = options

  /** The headers of a request, which the first message of a WebSocket has too. */
  const headersOf = (used: string | undefined): Record<string, string> => ({
    ...nameHeaders(options),
    ...(used === undefined ? apiKey && { 'x-api-key': apiKey } : { authorization: `Bearer ${used}` }),
  })

  /** Sends a request once, or twice if its token is rejected. */
  async function send(input: RequestInfo | URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
    let used = await session.readToken()
    for (let isRenewed = false; ; isRenewed = true) {
      signal.throwIfAborted()
      const headers = new Headers(init.headers)
      for (const [name, value] of Object.entries(headersOf(used))) headers.set(name, value)
      // The gateway must not take a request for that of the person before.
      const key = headers.get('idempotency-key')
      const persons = session.persons()
      if (key !== null && persons > 0) headers.set('idempotency-key', `${key}-${persons}`)
      const response = await globalThis.fetch(input instanceof Request ? input.clone() : input, {
        ...init,
        headers,
        signal,
      })
      if (response.status !== 401 || used === undefined || isRenewed) return await readWhole(response)
      const renewed = await session.readToken(used)
      if (renewed === used) return await readWhole(response)
      await response.body?.cancel()
      used = renewed
    }
  }

  /** Sends a request until it has a response, or its person leaves. */
  async function sendAs(input: RequestInfo | URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
    const isMutation = new Headers(init.headers).has('idempotency-key')
    const waiter = { isWoken: false }
    for (let attempt = 1; ; attempt += 1) {
      const sentAt = performance.now()
      const outcome = await send(input, init, signal).catch((error: unknown) => ({ error }))
      const retry = retryOf(outcome)
      if ('status' in outcome && !retry) waits.wake(sentAt)
      const most = isMutation || retry?.reason === 'limited' ? maxAttempts : attempts
      if (!retry || signal.aborted || attempt >= most || (retry.seconds ?? 0) > maxRetryAfterSeconds) {
        if ('error' in outcome) throw outcome.error
        return outcome
      }
      await waits.wait(attempt, retry.reason, retry.seconds, signal, waiter)
    }
  }

  const fetch: typeof globalThis.fetch = async (input, given = {}) => {
    // A Request can be sent once.
    const { headers, signal: own }: RequestInit = input instanceof Request ? input : {}
    const init = { headers: headers ?? {}, ...given }
    const ended = AbortSignal.any([closed.signal, own, given.signal].filter((signal) => signal != null))
    const isMutation = new Headers(init.headers).has('idempotency-key')
    const endWrite = isMutation ? writes.begin() : undefined
    for (let changes = 1; ; changes += 1) {
      const signal = session.stay()
      try {
        const response = await sendAs(input, init, AbortSignal.any([ended, signal]))
        signal.throwIfAborted()
        // Pages also read the routes of REST.
        const isOther = String(input instanceof Request ? input.url : input) !== options.url
        return isOther ? response : checked(response, options.url)
      } catch (error) {
        if (!signal.aborted || ended.aborted) throw error
        if (isMutation || changes === maxAttempts) throw signal.reason
      } finally {
        // A mutation is sent for one person.
        endWrite?.()
      }
    }
  }

  const subscribe = createSubscribe({
    url: options.url,
    transport: options.transport ?? 'socket',
    fetch,
    waits,
    writes,
    readToken: session.readToken,
    headersOf,
    signal: closed.signal,
    stay: session.stay,
  })
  return { fetch, subscribe, close: () => closed.abort(new Error('The client is closed.')) }
}

/** Creates the session of the person whose token it reads. Another token can be that of another person. */
function createSession({ token, onSignedOut, onPersonChange }: ClientOptions, closed: AbortSignal, forget: () => void) {
  let stay = new AbortController()
  let persons = 0
  /** Undefined before the first token, and after a sign-out. */
  let current: { readonly person: string | undefined } | undefined
  let isSignedOut = false

  /** Ends what the person before has begun. */
  function leave(): void {
    const left = stay
    stay = new AbortController()
    persons += 1
    current = undefined
    left.abort(personChanged())
    forget()
    onPersonChange?.()
  }
  token?.onSignOut?.(leave, closed)

  /** The token, and another one if the gateway has rejected it. */
  async function readToken(rejected?: string): Promise<string | undefined> {
    const begun = stay
    try {
      const read = await token?.(rejected)
      // It may be the token of the person who has left meanwhile.
      if (begun !== stay) return await readToken(rejected)
      isSignedOut = false
      const person = personOf(read)
      if (current && current.person !== person) leave()
      current = { person }
      return read
    } catch (error) {
      if (error instanceof TokenError && error.isSignedOut && !isSignedOut) {
        isSignedOut = true
        onSignedOut?.()
      }
      throw error
    }
  }

  /** `stay` ends with the person, `persons` counts those who have left. */
  return { readToken, stay: () => stay.signal, persons: () => persons }
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

/** A response, and its first byte. */
interface Whole extends Response {
  readonly first?: number | undefined
}

/** Reads a response, so that a connection that breaks in the middle is no response. Streams are passed on. */
async function readWhole(response: Response): Promise<Whole> {
  const isStream = /^(text\/event-stream|multipart\/)/.test(response.headers.get('content-type') ?? '')
  if (isStream || [204, 304].includes(response.status)) return response
  const body = await response.arrayBuffer()
  const first = new Uint8Array(body).find((byte) => byte > 0x20)
  return Object.assign(new Response(body, response), { first })
}

/**
 * Returns a response of the gateway: a stream, or JSON.
 *
 * @throws RequestError if a proxy, or another server, has answered
 */
function checked(response: Whole, url: string): Response {
  if (!('first' in response) || response.first === 0x7b || response.first === 0x5b) return response
  throw notGraphQL(response.status, response.headers, url)
}
