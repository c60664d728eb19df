import { fetch } from 'undici'
import { createGuardedAgent } from '../../../../engine/network/guarded-agent.ts'
import type { Lookup } from '../../../../engine/network/lookup.ts'
import type { AllowedNetworks } from '../../../../engine/network/private-networks.ts'
import { readBytes } from '../../../../engine/network/read-bytes.ts'
import { PermanentError } from '../../worker/handler.ts'
import { createCookies } from './cookies.ts'
import { followRedirects } from './follow-redirects.ts'
import { withoutBrowserHeaders } from './without-browser-headers.ts'

export interface FetchOptions {
  readonly timeoutMilliseconds: number
  /** The maximum length of the decompressed body. */
  readonly maxBytes: number
  readonly maxRedirects: number
  /** The networks that are not public to which it may connect. */
  readonly allowPrivateNetworks: AllowedNetworks
  readonly lookup: Lookup
  /** The header `user-agent`. */
  readonly userAgent: string
}

/** A body, and the header `content-type`. */
export interface FetchedBody {
  readonly bytes: Buffer
  readonly contentType: string | undefined
}

/**
 * Fetches a URL within limits. Each address is checked when the socket connects to it. Names that resolve to private
 * addresses are rejected, and so are redirects.
 *
 * @throws PermanentError if another attempt cannot succeed; otherwise an Error with a code and, if the server says when
 *   to come back, `retryAfterSeconds`
 */
export async function fetchLimited(url: URL, options: FetchOptions, signal: AbortSignal): Promise<FetchedBody> {
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

function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
