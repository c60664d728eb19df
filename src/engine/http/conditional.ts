import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Whether a cache may use a stored response for other clients, and the request headers that it depends on, besides the
 * URL.
 */
const audiences = {
  viewer: { cacheControl: 'private, no-cache', dependsOn: 'accept-encoding, authorization, x-api-key' },
  everyone: { cacheControl: 'no-cache', dependsOn: 'accept-encoding' },
}

/**
 * Sets the headers of a response that clients poll: a weak `ETag`, and the permission to store the response if it is
 * validated before each use. The tag is weak because the same response is also sent compressed. The type is JSON unless
 * the reply has one.
 *
 * @returns the body; undefined, with status 304, if the client has it already
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-conditional-requests
 */
export function respondConditionally(
  request: FastifyRequest,
  reply: FastifyReply,
  body: string,
  audience: keyof typeof audiences = 'viewer',
): string | undefined {
  const { cacheControl, dependsOn } = audiences[audience]
  // The link to the next page can appear while the page stays the same.
  const link = reply.getHeader('link') ?? ''
  const tag = hash('sha256', `${link}\n${body}`, 'base64url')
  const vary = [reply.getHeader('vary') ?? [], dependsOn].flat().join(', ')
  reply.headers({ etag: `W/"${tag}"`, 'cache-control': cacheControl, vary })
  if (includesTag(request.headers['if-none-match'], tag)) {
    reply.code(304).removeHeader('content-type')
    return undefined
  }
  if (!reply.hasHeader('content-type')) reply.type('application/json; charset=utf-8')
  return body
}

/**
 * Whether the header `If-None-Match` names the tag, weak or strong, or all tags. `Cache-Control: no-cache` of the
 * request does not matter, unlike in the package `fresh`: the response is never older than the request, and `fetch`
 * adds that header to every request with `If-None-Match`.
 */
function includesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || [...header.matchAll(/"([^"]*)"/g)].some(([, opaque]) => opaque === tag)
}
