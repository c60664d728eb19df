import type { Response } from 'undici'
import { readRetryAfter } from '../../../../engine/network/retry-after.ts'
import { PermanentError } from '../../worker/handler.ts'

/**
 * Requests a URL, and the URLs to which it redirects.
 *
 * @returns the response with a status of success
 * @throws PermanentError if another attempt cannot succeed; otherwise an Error with the code BAD_STATUS
 */
export async function followRedirects(
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
