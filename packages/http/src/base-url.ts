import type { FastifyRequest } from 'fastify'

/** A host name or an address, and a port. */
const hostPattern = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/** A path of plain segments. It cannot be taken for the name of a host (`//`), and does not lead elsewhere (`..`). */
const prefixPattern = /^(?:\/[\w~-][\w.~-]*)+$/
const maxPrefixLength = 100

/**
 * The URL under which the client reaches the gateway: `https://gateway.example.com/api`. Proxies that add TLS, change
 * the host or remove a prefix say so in `X-Forwarded-Proto`, `X-Forwarded-Host` and `X-Forwarded-Prefix`. A client can
 * send these headers too, so the URL is only for the response to this client.
 *
 * @returns a URL without an origin, which is relative to that of the response, if the request names no host
 */
export function baseUrlOf(request: FastifyRequest): string {
  const { headers, host } = request
  const [forwardedHost, scheme] = [firstOf(headers['x-forwarded-host']), firstOf(headers['x-forwarded-proto'])]
  const named = forwardedHost || host
  const prefix = prefixOf(request)
  return hostPattern.test(named) ? `${scheme === 'https' ? 'https' : 'http'}://${named}${prefix}` : prefix || '/'
}

/** The path below which a proxy serves the gateway (`X-Forwarded-Prefix`): `/api`. Empty if it is not plain. */
export function prefixOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const prefix = String(headers['x-forwarded-prefix'] ?? '').replace(/\/$/, '')
  return prefix.length <= maxPrefixLength && prefixPattern.test(prefix) ? prefix : ''
}

/** The first value of a header: each proxy appends its own. */
function firstOf(header: string | string[] | undefined): string {
  return String(header ?? '')
    .split(',', 1)
    .join('')
    .trim()
    .toLowerCase()
}
