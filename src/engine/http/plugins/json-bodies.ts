import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../errors.ts'
import { excessOf, problemOfNumbers } from '../../input/json.ts'
import type { FairQueue } from '../../limits/fair-queue.ts'
import { plugin } from '../plugin.ts'

/**
 * Bodies and messages from this size on, in bytes, are queued before they are read. The queue also waits for the work
 * that follows, up to the first statement.
 */
export const longBody = 32 * 1024

/**
 * Reads JSON bodies and rejects all others: a browser can send forms and plain text to other origins without asking. A
 * GET may have a body too (GET /fusion/profiles), also without a content type, because existing clients send none.
 */
export const jsonBodies = plugin<{ steps: FairQueue }>('jsonBodies', (app, { steps }) => {
  // No route without a key has a body, so a client without one cannot make the gateway read JSON.
  const parse = (request: FastifyRequest, body: Buffer) => {
    const { viewer, statements } = request
    if (!viewer) return undefined
    request.bodyLength = body.length
    if (body.length < longBody) return parseJson(body)
    return steps.run(
      viewer,
      () => parseJson(body),
      () => statements.isAbandoned === true,
    )
  }
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
    parse(request, body),
  )
  // Rejected before it is read: a file is often longer than a body may be.
  app.addContentTypeParser('multipart/form-data', async () => {
    throw new GatewayError(
      'UNSUPPORTED_MEDIA_TYPE',
      'Uploads of files (multipart/form-data) are not supported. Send the body as application/json.',
    )
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined
    if (!hasOptionalContentType(request)) {
      throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.')
    }
    return parse(request, body)
  })
})

function hasOptionalContentType({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers['content-type'] === undefined
}

/** Windows programs write a byte-order mark in front of UTF-8. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  // Decoding would silently replace bytes that are not UTF-8, and the gateway would store a text that the client has
  // not sent.
  if (!isUtf8(body)) throw new GatewayError('MALFORMED_REQUEST', 'The body is not UTF-8.')
  const text = withoutMark(body.toString('utf8'))
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new GatewayError('MALFORMED_REQUEST', 'The body is not valid JSON.')
  }
  const excess = excessOf(value)
  if (excess !== undefined) throw new GatewayError('MALFORMED_REQUEST', `The body ${excess}.`, { limit: 'body_values' })
  const problem = problemOfNumbers(text)
  if (problem !== undefined) throw new GatewayError('BAD_USER_INPUT', `The body ${problem}.`)
  return value
}
