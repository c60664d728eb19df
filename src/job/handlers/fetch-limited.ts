import type { BlockList } from 'node:net'
import { Agent, buildConnector, fetch, type Response } from 'undici'
import { PermanentError } from '../worker/handler.ts'
import { createPrivateNetworks } from './public-network.ts'

/** What a fetch of somebody else's URL may cost. */
export interface FetchLimits {
  readonly timeoutMilliseconds: number
  /** Of the body, decompressed. */
  readonly maxBytes: number
  readonly maxRedirects: number
  /** Whether addresses count that are not on the public internet. */
  readonly allowPrivateNetworks: boolean
}

/**
 * Fetches a URL within limits. Addresses are checked when the socket connects, so neither a name that resolves to a
 * private address nor a redirect to one gets there.
 *
 * @returns the body as text
 * @throws PermanentError when asking again would not help; otherwise what went wrong on the way
 */
export async function fetchLimited(url: URL, limits: FetchLimits, signal: AbortSignal): Promise<string> {
  const blockList = limits.allowPrivateNetworks ? undefined : createPrivateNetworks()
  const dispatcher = new Agent({ connect: createConnector(limits.timeoutMilliseconds, blockList) })
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
    return await readText(response, limits.maxBytes)
  } catch (error) {
    if (isBlocked(error)) throw new PermanentError('The URL leads to an address that is not on the public internet')
    if (timeout.aborted) throw codedError('TIMEOUT', `No answer within ${limits.timeoutMilliseconds / 1_000} s`)
    const cause = error instanceof TypeError ? error.cause : undefined
    if (cause instanceof Error && cause.message === 'bad port') throw new PermanentError('The port is not one for HTTP')
    if (cause instanceof Error) throw codedError(codeOf(cause), `The URL could not be fetched: ${cause.message}`)
    throw error
  } finally {
    await dispatcher.destroy()
  }
}

/**
 * Connects where the list allows it. Node looks at a block list when it opens a TCP socket, but not when it opens a TLS
 * one: so the socket comes first, and TLS is put on it.
 */
function createConnector(timeout: number, blockList: BlockList | undefined): buildConnector.connector {
  const openSocket = buildConnector({ timeout, ...(blockList && { blockList }) })
  const addTls = buildConnector({ timeout })
  return (options, callback) => {
    if (options.protocol !== 'https:') return openSocket(options, callback)
    openSocket({ ...options, protocol: 'http:', port: options.port || '443' }, (...[error, httpSocket]) => {
      if (error) callback(error, null)
      else addTls({ ...options, httpSocket }, callback)
    })
  }
}

async function follow(url: URL, redirects: number, request: (url: URL) => Promise<Response>): Promise<Response> {
  if (!/^https?:$/.test(url.protocol)) throw new PermanentError('The URL must be http or https')
  if (url.username !== '' || url.password !== '') throw new PermanentError('The URL must carry no user and password')
  const response = await request(url)
  const location = response.headers.get('location')
  if (response.status >= 300 && response.status < 400 && location !== null) {
    await response.body?.cancel()
    if (redirects === 0) throw new PermanentError('The URL redirects too often')
    if (!URL.canParse(location, url)) throw new PermanentError('The URL redirects to something that is no URL')
    return follow(new URL(location, url), redirects - 1, request)
  }
  if (response.ok) return response
  await response.body?.cancel()
  const message = `The URL answered ${response.status}`
  // What the server says of the request itself will be the same next time; what it says of itself may not.
  if (response.status < 500 && ![408, 425, 429].includes(response.status)) throw new PermanentError(message)
  throw codedError('BAD_STATUS', message)
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new PermanentError(`The URL answers more than ${maxBytes / 1024 / 1024} MiB`)
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
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
