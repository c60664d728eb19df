import type { FastifyRequest } from 'fastify'

/** A host name or an address, and a port. */
const hostPattern = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/**
 * The URL under which the client reaches the gateway: `https://gateway.example.com`. Proxies that add TLS or change the host say so in
 * `X-Forwarded-Proto` and `X-Forwarded-Host`. A client can send these headers too, so the URL is only for the response to this client.
 *
 * @returns `/`, which is relative to the URL of the response, if the request names no host
 */
export function baseUrlOf({ headers, host }: FastifyRequest): string {
  const [forwardedHost, scheme] = [firstOf(headers['x-forwarded-host']), firstOf(headers['x-forwarded-proto'])]
  const named = forwardedHost || host
  return hostPattern.test(named) ? `${scheme === 'https' ? 'https' : 'http'}://${named}` : '/'
}

/** The first value of a header: each proxy appends its own. */
function firstOf(header: string | string[] | undefined): string {
  return String(header ?? '')
    .split(',', 1)
    .join('')
    .trim()
    .toLowerCase()
}
