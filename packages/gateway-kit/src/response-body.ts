import { hash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  crc32,
  createBrotliCompress,
  createGzip,
  deflateRaw,
  gzipSync,
} from 'node:zlib'
import type { FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'

declare module 'fastify' {
  interface FastifyReply {
    /** Its body, if the start of it is kept. Not a weak map, which would keep it until a full garbage collection. */
    repeated: RepeatedBody | undefined
  }
}

// How the body of a response is sent: not at all if the client has it already, and compressed.

// Ours, not @fastify/etag: that compares If-None-Match as one tag, without lists and `*`, and hashes the body without
// the header Link.

/**
 * Whether a cache may use a stored response for other clients, and the request headers that it depends on, besides the
 * URL.
 */
const audiences = {
  viewer: { cacheControl: 'private, no-cache', dependsOn: 'accept-encoding, authorization, x-api-key' },
  everyone: { cacheControl: 'no-cache', dependsOn: 'accept-encoding' },
}

/**
 * Sets the headers of a response that clients poll: an `ETag`, and the permission to store the response if it is
 * validated before each use. The type is JSON unless the reply has one. What is not sent costs no points.
 *
 * @param etag weak by default, because the same response is also sent compressed. A strong one, which `If-Match` can
 *   name, gets another end then
 * @returns the body; undefined, with status 304, if the client has it already
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-conditional-requests
 */
export function respondConditionally(
  request: FastifyRequest,
  reply: FastifyReply,
  body: string,
  audience: keyof typeof audiences = 'viewer',
  etag = weakTag(tagOf(body)),
): string | undefined {
  const { cacheControl, dependsOn } = audiences[audience]
  const vary = [reply.getHeader('vary') ?? [], dependsOn].flat().join(', ')
  const known = knownTag(request.headers['if-none-match'], etag)
  reply.headers({ etag: known ?? etag, 'cache-control': cacheControl, vary })
  if (known !== undefined || request.method === 'HEAD') reply.headers(request.held.points?.dropResponse() ?? {})
  if (known !== undefined) {
    reply.code(304).removeHeader('content-type')
    return undefined
  }
  if (!reply.hasHeader('content-type')) reply.type('application/json; charset=utf-8')
  return body
}

/** The tag of a response. The link to the next page can appear while the page stays the same. */
export function tagOf(body: string, link = ''): string {
  return hash('sha256', `${link}\n${body}`, 'base64url')
}

export const weakTag = (tag: string) => `W/"${tag}"`
export const strongTag = (tag: string) => `"${tag}"`

/**
 * The `ETag` of the response that a client has already, by its header `If-None-Match`: it names the tag of the response
 * in any encoding, weak or strong, or all tags. `Cache-Control: no-cache` of the request does not matter, unlike in the
 * package `fresh`: the response is never older than the request, and `fetch` adds that header to every request with
 * `If-None-Match`.
 */
function knownTag(header: string | undefined, etag: string): string | undefined {
  if (header?.trim() === '*') return etag
  const [own] = tagsIn(etag)
  const known = tagsIn(header).find(({ opaque }) => withoutEncoding(opaque) === own?.opaque)
  return known && (own?.isWeak ? etag : strongTag(known.opaque))
}

/** Whether a client has the response with a tag already. */
export const isKnown = ({ headers }: Pick<FastifyRequest, 'headers'>, etag: string) =>
  knownTag(headers['if-none-match'], etag) !== undefined

/**
 * Whether the header `If-Match` names the tag of a response, in any encoding. Weak tags never match: a proxy that has
 * changed the response makes its tag weak.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
 */
export function matchesTag(header: string, tag: string): boolean {
  return tagsIn(header).some(({ opaque, isWeak }) => !isWeak && withoutEncoding(opaque) === tag)
}

function tagsIn(header = '') {
  const tags = header.matchAll(/(W\/)?"([^"]*)"/g)
  return Array.from(tags, ([, weak, opaque = '']) => ({ opaque, isWeak: weak !== undefined }))
}

/** `…uFU.br` ⇒ `…uFU`. Hashes have no point. */
function withoutEncoding(opaque: string): string {
  return opaque.replace(/\.(?:br|gzip)$/, '')
}

/** Shorter responses, in bytes, fit into one network packet anyway. */
const threshold = 1_024

/** Up to this length, in bytes, compressing takes less than 0.5 ms, which setting up a stream takes too. */
const syncThreshold = 64 * 1024

/** At level 4, Brotli makes JSON a tenth shorter and takes two to three times as long (docs/performance.md). */
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const gzip = { level: 1 }

const brotliStart = { ...brotli, finishFlush: constants.BROTLI_OPERATION_FLUSH }
const deflateStart = { ...gzip, finishFlush: constants.Z_SYNC_FLUSH }

/** The compressed start of a body: whole bytes, and for gzip the checksum and the length. */
type Start = readonly Buffer[]

/** The longest rest of a body, in characters. Its block has at most 65,535 bytes. */
const maxRest = 16_384

const brotliEnd = Buffer.of(3)
const gzipHeader = Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255)

/** The end of a body that is compressed with gzip: its checksum and its length, both of 32 bits. */
function gzipTrailer(checksum: number, length: number): Buffer {
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(checksum)
  trailer.writeUInt32LE(length % 2 ** 32, 4)
  return trailer
}

const encoders = {
  br: {
    compress: (text: string) => brotliCompressSync(text, brotli),
    start: async (text: string): Promise<Start> => [await promisify(brotliCompress)(text, brotliStart)],
    /** @see https://www.rfc-editor.org/rfc/rfc7932#section-9.2 */
    join([bytes]: Start, text: string): Buffer {
      if (text === '') return Buffer.concat([bytes as Buffer, brotliEnd])
      const rest = Buffer.from(text)
      const block = Buffer.alloc(3)
      block.writeUIntLE(((rest.length - 1) << 3) | (1 << 19), 0, 3)
      return Buffer.concat([bytes as Buffer, block, rest, brotliEnd])
    },
    createStream: () => createBrotliCompress(brotli),
  },
  gzip: {
    compress: (text: string) => gzipSync(text, gzip),
    start: async (text: string): Promise<Start> => [
      await promisify(deflateRaw)(text, deflateStart),
      gzipTrailer(crc32(text), Buffer.byteLength(text)),
    ],
    /** @see https://www.rfc-editor.org/rfc/rfc1952 and https://www.rfc-editor.org/rfc/rfc1951#section-3.2.4 */
    join([bytes, trailer]: Start, text: string): Buffer {
      const rest = Buffer.from(text)
      const [checksum, length] = [trailer?.readUInt32LE(0), trailer?.readUInt32LE(4)] as [number, number]
      const block = Buffer.of(1, 0, 0, 0, 0)
      block.writeUInt16LE(rest.length, 1)
      block.writeUInt16LE(rest.length ^ 0xffff, 3)
      const end = gzipTrailer(crc32(rest, checksum), length + rest.length)
      return Buffer.concat([gzipHeader, bytes as Buffer, block, rest, end])
    },
    createStream: () => createGzip(gzip),
  },
}

export type Encoding = keyof typeof encoders

/** Events are excluded: the encoder would hold them back. */
const compressibleType = /^text\/(?!event-stream)|[/+]json\b/

/**
 * The `onSend` hook of routes whose responses are compressed if the client accepts it and `cache-control` has no
 * `no-transform`. Request bodies may not be compressed: a short one could become very long.
 */
export const compressResponse: onSendHookHandler<unknown> = (request, reply, payload, done) => {
  const encoding = chooseEncoding(request, reply)
  if (encoding === undefined) return done(null, payload)
  const encoder = encoders[encoding]
  if (payload instanceof Readable) {
    setHeaders(reply, encoding)
    // Fastify reads the result, and reports an error that ends it.
    return done(
      null,
      pipeline(payload, encoder.createStream(), () => undefined),
    )
  }
  if (typeof payload !== 'string') return done(null, payload)
  if (payload.length < threshold && Buffer.byteLength(payload) < threshold) return done(null, payload)
  setHeaders(reply, encoding)
  const { repeated } = reply
  if (repeated?.body === payload) {
    compressRepeated(repeated, encoding).then((bytes) => done(null, bytes), done)
  } else if (Buffer.byteLength(payload) > syncThreshold) done(null, encoder.createStream().end(payload))
  else done(null, encoder.compress(payload))
}

/** Keeps what is made of a response as long as the response itself. */
export interface MadeOnce {
  find<Part extends string | Buffer>(name: string): readonly Part[] | undefined
  add(name: string, made: readonly (string | Buffer)[]): void
}

/** A body that begins with a text which is kept. */
interface RepeatedBody {
  readonly kept: MadeOnce
  /** The name of the text among what is made of the response. */
  readonly name: string
  readonly start: string
  readonly rest: string
  /** Both. */
  readonly body: string
}

/** Lets the start of a body be compressed once for each encoding. */
export function compressOnce(reply: FastifyReply, body: RepeatedBody): void {
  const isAccepted = reply.request.headers['accept-encoding'] !== undefined
  if (isAccepted && body.rest.length <= maxRest) reply.repeated = body
}

async function compressRepeated({ kept, name, start, rest }: RepeatedBody, encoding: Encoding): Promise<Buffer> {
  const encoder = encoders[encoding]
  const fullName = `${name} ${encoding}`
  const known = kept.find<Buffer>(fullName)
  if (known) return encoder.join(known, rest)
  const made = await encoder.start(start)
  // The copies have no buffer around them that is not counted.
  kept.add(
    fullName,
    made.map((part) => Uint8Array.prototype.slice.call(part) as Buffer),
  )
  return encoder.join(made, rest)
}

function chooseEncoding({ headers }: FastifyRequest, reply: FastifyReply): Encoding | undefined {
  const accepted = headers['accept-encoding']
  if (!accepted || reply.hasHeader('content-encoding')) return undefined
  if (String(reply.getHeader('cache-control')).includes('no-transform')) return undefined
  if (!compressibleType.test(String(reply.getHeader('content-type') ?? ''))) return undefined
  return preferredEncoding(accepted)
}

/** The encoding that a header `accept-encoding` prefers. Undefined for none: the plain body. */
export function preferredEncoding(accepted: string | string[]): Encoding | undefined {
  return choices.memo(String(accepted)).encoding
}

/** How many encodings of a header are read. Choosing among the thousands for which a header has room takes 8 ms. */
const maxEncodings = 20

/**
 * The choices for headers that were sent recently: clients send only a few different ones. Long headers are not kept.
 */
const choices = new LRUCache<string, { readonly encoding: Encoding | undefined }>({
  max: 100,
  maxEntrySize: 500,
  sizeCalculation: (_choice, accepted) => accepted.length + 1,
  memoMethod(accepted) {
    // Clients name gzip first, and Brotli is shorter.
    const rankOf = (entry: string) => (entry.trim().startsWith('br') ? 0 : 1)
    const entries = accepted.split(',', maxEncodings).toSorted((one, other) => rankOf(one) - rankOf(other))
    const headers = { 'accept-encoding': entries.join() }
    const chosen = new Negotiator({ headers }).encoding(['br', 'gzip', 'identity'])
    return { encoding: chosen === 'br' || chosen === 'gzip' ? chosen : undefined }
  },
})

function setHeaders(reply: FastifyReply, encoding: Encoding): void {
  const tag = reply.getHeader('etag')
  // A strong tag names the bytes of one encoding.
  if (typeof tag === 'string' && tag.startsWith('"')) reply.header('etag', tag.replace(/"$/, `.${encoding}"`))
  const vary = [reply.getHeader('vary') ?? []].flat().join(', ')
  if (!/accept-encoding/i.test(vary)) reply.header('vary', [vary, 'accept-encoding'].filter(Boolean).join(', '))
  // The length that a handler has set is that of the plain body.
  reply.header('content-encoding', encoding).removeHeader('content-length')
}
