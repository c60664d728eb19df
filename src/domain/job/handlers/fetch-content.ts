import { once } from 'node:events'
import { setInterval } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { AllowedNetworks } from '@fusion-gateway/network'
import { createLookup, type Lookup, loadGuardedAgent, readBytes, readRetryAfter } from '@fusion-gateway/network'
import { type Dispatcher, fetch, getSetCookies, type Headers, type Response } from 'undici'
import { type JobHandler, PermanentError } from '../worker/handler.ts'
import { codedError } from '../worker/outcome.ts'
import type { FeedAnswer, FeedBytes } from './feed/feed.worker.ts'
import type { FeedIds } from './feed/feed-item.ts'

const { createGuardedAgent } = await loadGuardedAgent()

const limits = { timeoutMilliseconds: 10_000, maxBytes: 5 * 1024 * 1024, maxRedirects: 5 }

interface FetchContentOptions extends Pick<FetchOptions, 'allowPrivateNetworks' | 'userAgent'> {
  /** Instead of those of the system. */
  readonly nameServers?: readonly string[]
}

/** The handler of `fetch_content`: payload `{url}` ⇒ result `{contentIds, contentGroupIds}` of the feed at the URL. */
export function createFetchContent({ nameServers, ...options }: FetchContentOptions): JobHandler {
  const lookup = createLookup(nameServers)
  return async function fetchContent(payload: { url?: unknown } | null, { signal, progress }) {
    const url = payload?.url
    if (typeof url !== 'string' || !URL.canParse(url)) throw new PermanentError('The payload needs a url')
    progress(0, 'fetching')
    const feed = await fetchLimited(new URL(url), { ...limits, ...options, lookup }, signal)
    progress(0.5, 'reading')
    return readFeed(feed, signal)
  }
}

/** The headers that `fetch` adds because browsers send them. Some servers refuse them from other programs. */
const browserHeaders = new Set(['sec-fetch-mode', 'accept-language'])

function withoutBrowserHeaders(dispatch: Dispatcher['dispatch']): Dispatcher['dispatch'] {
  return (options, handler) => {
    const sent = Object.entries(options.headers ?? {}).filter(([name]) => !browserHeaders.has(name.toLowerCase()))
    return dispatch({ ...options, headers: Object.fromEntries(sent) }, handler)
  }
}

interface FetchOptions {
  readonly timeoutMilliseconds: number
  /** The maximum length of the decompressed body. */
  readonly maxBytes: number
  readonly maxRedirects: number
  /** The networks that are not public to which it may connect. */
  readonly allowPrivateNetworks: AllowedNetworks
  readonly lookup: Lookup
  readonly userAgent: string
}

/**
 * Fetches a URL within limits. Each address is checked when the socket connects to it. Names that resolve to private
 * addresses are rejected, and so are redirects.
 *
 * @throws PermanentError if another attempt cannot succeed; otherwise an Error with a code and, if the server says when
 *   to come back, `retryAfterSeconds`
 */
export async function fetchLimited(url: URL, options: FetchOptions, signal: AbortSignal): Promise<FeedBytes> {
  const agent = createGuardedAgent(options)
  const dispatcher = agent.compose(withoutBrowserHeaders)
  const timeout = AbortSignal.timeout(options.timeoutMilliseconds)
  const cookies = createCookies()
  try {
    const response = await followRedirects(url, options.maxRedirects, async (hop) => {
      const received = await fetch(hop, {
        dispatcher,
        redirect: 'manual',
        signal: AbortSignal.any([signal, timeout]),
        headers: {
          accept: 'application/atom+xml, application/rss+xml, application/feed+json, */*;q=0.5',
          'user-agent': options.userAgent,
          ...cookies.headerFor(hop),
        },
      })
      cookies.store(hop, received.headers)
      return received
    })
    const bytes = await readBytes(response.body, options.maxBytes)
    if (bytes !== undefined) return { bytes, contentType: response.headers.get('content-type') ?? undefined }
    throw new PermanentError(`The URL answered with more than ${options.maxBytes / 1024 / 1024} MiB`)
  } catch (error) {
    if (isBlocked(error)) throw new PermanentError('The URL leads to an address that is not public')
    if (timeout.aborted)
      throw codedError('TIMEOUT', `The URL did not answer within ${options.timeoutMilliseconds / 1_000} s`)
    const cause = error instanceof TypeError ? error.cause : undefined
    if (cause instanceof Error && cause.message === 'bad port')
      throw new PermanentError('The port of the URL is blocked')
    if (cause instanceof Error) throw codedError(codeOf(cause), `The URL could not be fetched: ${cause.message}`)
    throw error
  } finally {
    await agent.destroy()
  }
}

function isBlocked(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === 'ERR_IP_BLOCKED') return true
    if (cause instanceof AggregateError && cause.errors.some(isBlocked)) return true
  }
  return false
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : 'FETCH_FAILED'
}

/** Keeps the cookies of one fetch: some servers set a cookie, redirect, and redirect again until they get it. */
function createCookies() {
  const byOrigin = new Map<string, Map<string, string>>()
  return {
    /** Stores what a response sets. Only its own origin gets it back. */
    store({ origin }: URL, headers: Headers): void {
      const cookies = byOrigin.get(origin) ?? new Map<string, string>()
      byOrigin.set(origin, cookies)
      for (const { name, value, maxAge } of getSetCookies(headers)) {
        if (maxAge !== undefined && maxAge <= 0) cookies.delete(name)
        else cookies.set(name, value)
      }
    },
    headerFor({ origin }: URL): { readonly cookie?: string } {
      const pairs = [...(byOrigin.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`)
      return pairs.length > 0 ? { cookie: pairs.join('; ') } : {}
    },
  }
}

/**
 * @returns the response with a status of success, after redirects
 * @throws PermanentError if another attempt cannot succeed; otherwise an Error with the code BAD_STATUS
 */
async function followRedirects(
  url: URL,
  redirects: number,
  request: (url: URL) => Promise<Response>,
): Promise<Response> {
  if (!/^https?:$/.test(url.protocol)) throw new PermanentError('The URL must be http or https')
  if (url.username !== '' || url.password !== '')
    throw new PermanentError('The URL must not contain a user or a password')
  const response = await request(url)
  const header = response.headers.get('location')
  if (response.status >= 300 && response.status < 400 && header !== null) {
    await response.body?.cancel()
    if (redirects === 0) throw new PermanentError('The URL redirects too often')
    const location = asUtf8(header)
    if (!URL.canParse(location, url)) throw new PermanentError('The URL redirects to an invalid URL')
    return followRedirects(new URL(location, url), redirects - 1, request)
  }
  if (response.ok) return response
  await response.body?.cancel()
  throw badStatus(response)
}

/** Servers send UTF-8 in `location`, and `fetch` reads each byte of a header as a character. */
function asUtf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return header
  }
}

/** An error of the request (4xx) stays the same; an error of the server may pass. */
function badStatus({ status, headers }: Response): Error {
  const message = `The URL answered with status ${status}`
  if (status < 500 && ![408, 425, 429].includes(status)) return new PermanentError(message)
  const retryAfterSeconds = status === 429 || status === 503 ? readRetryAfter(headers.get('retry-after')) : undefined
  return Object.assign(new Error(message), { code: 'BAD_STATUS', retryAfterSeconds })
}

/** The limits of parsing a feed. A malicious text can take very long to parse. */
interface ParseLimits {
  /** CPU time, so a busy machine changes nothing. */
  readonly cpuSeconds: number
  readonly memoryMib: number
}

const defaultLimits: ParseLimits = { cpuSeconds: 10, memoryMib: 256 }

/** How often the CPU time of a thread is read, in milliseconds: often enough for the limit. */
const checkMillisecondsFor = (cpuSeconds: number) => Math.min(250, cpuSeconds * 250)

/**
 * Reads the ids of a feed in a separate thread, because parsing 5 MiB takes seconds.
 *
 * @param signal ends the thread when it aborts
 * @throws PermanentError if the text is not a feed, or takes too much time or memory to parse
 */
export async function readFeed(feed: FeedBytes, signal: AbortSignal, limits = defaultLimits): Promise<FeedIds> {
  const worker = new Worker(new URL('./feed/feed.worker.ts', import.meta.url), {
    workerData: feed,
    resourceLimits: { maxOldGenerationSizeMb: limits.memoryMib },
  })
  const ended = new AbortController()
  try {
    const answer = await Promise.race([
      once(worker, 'message', { signal }).then(([message]) => message as FeedAnswer),
      exceedCpu(worker, limits.cpuSeconds, ended.signal),
    ])
    if (!('problem' in answer)) return answer
    throw new PermanentError(answer.problem)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof PermanentError) throw error
    throw new PermanentError(messageOf(error, limits), { cause: error })
  } finally {
    ended.abort()
    await worker.terminate()
  }
}

/** Returns when the thread has used more CPU time than it may. Rejects when `ended` aborts. */
async function exceedCpu(worker: Worker, seconds: number, ended: AbortSignal): Promise<FeedAnswer> {
  for await (const _ of setInterval(checkMillisecondsFor(seconds), undefined, { signal: ended })) {
    // A thread that has just ended has no usage. Its own event says why it ended.
    const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }))
    if (user + system > seconds * 1_000_000) break
  }
  return { problem: `Parsing the feed takes more than ${seconds} s of CPU time` }
}

function messageOf(error: unknown, { memoryMib }: ParseLimits): string {
  const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return isTooLarge
    ? `Parsing the feed takes more than ${memoryMib} MiB`
    : 'The URL did not answer with an RSS, Atom or JSON feed'
}
