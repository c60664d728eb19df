import { fetch, type Response } from 'undici'
import { createGuardedAgent } from '../../../engine/network/guarded-agent.ts'
import { readText } from '../../../engine/network/read-text.ts'
import { PermanentError } from '../worker/handler.ts'

export interface FetchLimits {
  readonly timeoutMilliseconds: number
  /** The maximum length of the decompressed body. */
  readonly maxBytes: number
  readonly maxRedirects: number
  /** Whether it may connect to addresses that are not public. */
  readonly allowPrivateNetworks: boolean
}

/**
 * Fetches a URL within limits. Each address is checked when the socket connects to it. Names that resolve to private
 * addresses are rejected, and so are redirects.
 *
 * @returns the body as text
 * @throws PermanentError if another attempt cannot succeed; otherwise an Error with a code
 */
export async function fetchLimited(url: URL, limits: FetchLimits, signal: AbortSignal): Promise<string> {
  const dispatcher = createGuardedAgent(limits)
  const timeout = AbortSignal.timeout(limits.timeoutMilliseconds)
  try {
    const response = await follow(url, limits.maxRedirects, (hop) =>
      fetch(hop, {
        dispatcher,
        redirect: 'manual',
        signal: AbortSignal.any([signal, timeout]),
        headers: { accept: 'application/atom+xml, application/rss+xml, application/feed+json, */*;q=0.5' },
      }),
    )
    const text = await readText(response.body, limits.maxBytes)
    if (text !== undefined) return text
    throw new PermanentError(`The URL answered with more than ${limits.maxBytes / 1024 / 1024} MiB`)
  } catch (error) {
    if (isBlocked(error)) throw new PermanentError('The URL leads to an address that is not public')
    if (timeout.aborted)
      throw codedError('TIMEOUT', `The URL did not answer within ${limits.timeoutMilliseconds / 1_000} s`)
    const cause = error instanceof TypeError ? error.cause : undefined
    if (cause instanceof Error && cause.message === 'bad port')
      throw new PermanentError('The port of the URL is blocked')
    if (cause instanceof Error) throw codedError(codeOf(cause), `The URL could not be fetched: ${cause.message}`)
    throw error
  } finally {
    await dispatcher.destroy()
  }
}

async function follow(url: URL, redirects: number, request: (url: URL) => Promise<Response>): Promise<Response> {
  if (!/^https?:$/.test(url.protocol)) throw new PermanentError('The URL must be http or https')
  if (url.username !== '' || url.password !== '')
    throw new PermanentError('The URL must not contain a user or a password')
  const response = await request(url)
  const location = response.headers.get('location')
  if (response.status >= 300 && response.status < 400 && location !== null) {
    await response.body?.cancel()
    if (redirects === 0) throw new PermanentError('The URL redirects too often')
    if (!URL.canParse(location, url)) throw new PermanentError('The URL redirects to an invalid URL')
    return follow(new URL(location, url), redirects - 1, request)
  }
  if (response.ok) return response
  await response.body?.cancel()
  const message = `The URL answered with status ${response.status}`
  // An error of the request (4xx) stays the same; an error of the server may pass.
  if (response.status < 500 && ![408, 425, 429].includes(response.status)) throw new PermanentError(message)
  throw codedError('BAD_STATUS', message)
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
