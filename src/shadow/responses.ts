import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { ownValue } from '@fusion-gateway/base'
import { maxBodyBytes, type ReceivedResponse, tooLong } from '../old-service/send.ts'
import { compareJson, NotComparable, type OnDifference } from './compare.ts'

const limit = { maxOutputLength: maxBodyBytes }

const decoders: Readonly<Record<string, (body: Buffer) => Promise<Buffer>>> = {
  gzip: (body) => promisify(gunzip)(body, limit),
  'x-gzip': (body) => promisify(gunzip)(body, limit),
  deflate: (body) => promisify(inflate)(body, limit),
  br: (body) => promisify(brotliDecompress)(body, limit),
  zstd: (body) => promisify(zstdDecompress)(body, limit),
}

async function decode({ headers, body }: ReceivedResponse): Promise<Buffer> {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity' || body.length === 0) return body
  const decoder = ownValue(decoders, encoding)
  if (!decoder) throw new NotComparable('an unknown content-encoding')
  return decoder(body).catch((error: NodeJS.ErrnoException) => {
    throw new NotComparable(error.code === 'ERR_BUFFER_TOO_LARGE' ? tooLong : 'a body that cannot be decompressed')
  })
}

/**
 * Compares two responses to the same request: the status, the headers that clients read, and the body.
 *
 * @throws NotComparable
 */
export async function compareResponses(
  route: string,
  old: ReceivedResponse,
  other: ReceivedResponse,
  onDifference: OnDifference,
): Promise<void> {
  const reason = reasonAgainst(old)
  if (reason !== undefined) throw new NotComparable(reason)
  if (old.status !== other.status) {
    onDifference({ path: 'status', kind: 'status', old: old.status, new: other.status })
    // A result and an error have nothing in common.
    if (old.status >= 400 || other.status >= 400) return
  }
  compareHeaders(old.headers, other.headers, onDifference)
  if (route.startsWith('HEAD ')) return
  const [oldBody, otherBody] = await Promise.all([decode(old), decode(other)])
  if (oldBody.equals(otherBody)) return
  const [oldValue, otherValue] = [parseBody(old, oldBody), parseBody(other, otherBody)]
  if (route.startsWith('POST /graphql')) {
    compareExtensions(takeExtensions(oldValue), takeExtensions(otherValue), onDifference)
    compareStatements(old.headers, other.headers, onDifference)
  }
  const isOfBothOccurrences = isProblem(old) && isProblem(other)
  const report: OnDifference = (difference) => {
    if (!(isOfBothOccurrences && occurrence.includes(difference.path))) onDifference(difference)
  }
  if (oldValue && otherValue) compareJson(route, oldValue.value, otherValue.value, report)
  else if (oldValue || otherValue) {
    const name = (value: object | undefined) => (value ? 'JSON' : 'not JSON')
    onDifference({ path: '$', kind: 'format', old: name(oldValue), new: name(otherValue) })
  } else
    onDifference({ path: 'body', kind: 'value', old: oldBody.toString('latin1'), new: otherBody.toString('latin1') })
}

/** What names one occurrence of an error in the problem documents of gateways (RFC 9457). */
const occurrence: readonly string[] = ['$.instance', '$.request_id']

const isProblem = ({ headers }: ReceivedResponse) => headers['content-type']?.startsWith('application/problem+json')

interface Extensions {
  readonly cost?: { readonly requested?: unknown }
}

/** Removes the extensions of a GraphQL response, which are about the request and not about data. */
function takeExtensions(parsed: { readonly value: unknown } | undefined): Extensions | undefined {
  const result = Object(parsed?.value) as { extensions?: Extensions }
  const { extensions } = result
  delete result.extensions
  return extensions
}

function compareExtensions(old: Extensions | undefined, other: Extensions | undefined, onDifference: OnDifference) {
  const [cost, otherCost] = [old?.cost?.requested, other?.cost?.requested]
  if (cost === undefined || otherCost === undefined || cost === otherCost) return
  onDifference({ path: 'extensions.cost.requested', kind: 'cost', old: cost, new: otherCost })
}

/** The gateway says in `Server-Timing` how many statements it has sent to the database. */
function compareStatements(old: IncomingHttpHeaders, other: IncomingHttpHeaders, onDifference: OnDifference): void {
  const [count, otherCount] = [old, other].map((headers) => {
    return /\bdb;desc="(\d+) statements?"/.exec(String(headers['server-timing']))?.[1]
  })
  if (count === undefined || otherCount === undefined || count === otherCount) return
  onDifference({ path: 'headers.server-timing', kind: 'statements', old: Number(count), new: Number(otherCount) })
}

/** Why nothing can be compared with a response. */
function reasonAgainst({ status, headers }: ReceivedResponse): string | undefined {
  if (status === 304) return 'responses 304 Not Modified'
  if (status === 206) return 'parts of responses (206)'
  if (headers['content-type']?.startsWith('text/event-stream')) return 'event streams'
  return undefined
}

/** What clients read of a header, so that what differs without a meaning is equal. */
const readHeaders: Readonly<Record<string, (value: string) => string>> = {
  'content-type': (value) => (value.split(';', 1)[0] ?? '').trim().toLowerCase(),
  location: withoutOrigin,
  link: (value) => withoutOrigin(value).replace(/([?&]cursor=)[^&>]*/g, '$1…'),
  allow: (value) =>
    value
      .toUpperCase()
      .split(/\s*,\s*/)
      .toSorted()
      .join(', '),
  'content-disposition': (value) => value,
  'content-language': (value) => value,
  'x-total-count': (value) => value,
  // Their values depend on the service and the moment, so only their absence is a difference.
  etag: () => 'present',
  'retry-after': () => 'present',
  'www-authenticate': (value) => (value.split(' ', 1)[0] ?? '').toLowerCase(),
}

/** The host of a link is that of the service. */
function withoutOrigin(value: string): string {
  return value.replace(/https?:\/\/[^/?#>\s]*/gi, '')
}

/** A header that only the new service sends surprises no client. */
function compareHeaders(old: IncomingHttpHeaders, other: IncomingHttpHeaders, onDifference: OnDifference): void {
  for (const [name, read] of Object.entries(readHeaders)) {
    const [value, otherValue] = [ownValue(old, name), ownValue(other, name)].map((header) => header?.toString())
    if (value === undefined || (otherValue !== undefined && read(value) === read(otherValue))) continue
    onDifference({ path: `headers.${name}`, kind: 'header', old: value, new: otherValue })
  }
}

/** The JSON of a body. Undefined if it is none. */
function parseBody({ headers }: ReceivedResponse, body: Buffer): { readonly value: unknown } | undefined {
  if (body.length === 0) return undefined
  const isCalledJson = /[/+]json\b/i.test(headers['content-type'] ?? '')
  try {
    const text = body.toString('utf8')
    // A scalar that is not called JSON is a text.
    if (!isCalledJson && !/^\s*[[{]/.test(text)) return undefined
    return { value: parseExactly(text) }
  } catch {
    return undefined
  }
}

/** Parses JSON. Whole numbers that JavaScript would round are bigints. */
function parseExactly(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value: unknown, { source }: { readonly source?: string } = {}) => {
    const isRounded = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '')
    return isRounded ? BigInt(source ?? '') : value
  })
}
