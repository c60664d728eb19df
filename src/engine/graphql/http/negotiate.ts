import { LRUCache } from 'lru-cache'
import { GatewayError } from '../../errors.ts'
import { choosePreferred } from '../../http/quality-values.ts'

/** The media types of answers. Their order matters only if the client names a range, such as `*\/*`. */
const mediaTypes = [
  'application/json',
  'application/graphql-response+json',
  'text/event-stream',
  'multipart/mixed',
] as const

export type MediaType = (typeof mediaTypes)[number]

/** A media type of a single JSON answer. */
export type JsonType = Extract<MediaType, `application/${string}`>

/**
 * Chooses the media type of an answer by the header `accept` and its q-values. Other parameters are ignored.
 *
 * @throws GatewayError NOT_ACCEPTABLE. Call it before the operation runs: a client repeats a request that was not acceptable
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Legacy-Watershed
 */
export function negotiate(accept: string | undefined): MediaType {
  const { type } = choices.memo(accept ?? '')
  if (type === undefined) throw new GatewayError('NOT_ACCEPTABLE', `Accept one of ${mediaTypes.join(', ')}.`)
  return type
}

/** The choices for headers that were sent recently: clients send only a few different ones. Long headers are not kept. */
const choices = new LRUCache<string, { readonly type: MediaType | undefined }>({
  max: 100,
  maxEntrySize: 500,
  sizeCalculation: (_choice, accept) => accept.length + 1,
  memoMethod: (accept) => ({ type: preferred(accept, mediaTypes) }),
})

/** @throws GatewayError NOT_ACCEPTABLE if a client does not accept server-sent events */
export function requireEventStream(accept: string | undefined): void {
  if (preferred(accept ?? '', ['text/event-stream'])) return
  throw new GatewayError(
    'NOT_ACCEPTABLE',
    'A subscription is answered with server-sent events. Accept text/event-stream.',
  )
}

/** How many media ranges are read. Browsers send up to ten, and a header of 16 KiB has room for thousands, which take 10 ms. */
const maxRanges = 100

function preferred<Type extends string>(accept: string, types: readonly Type[]): Type | undefined {
  // An empty header accepts everything, like a missing one.
  const ranges = (accept.replaceAll(/;(?!\s*q\s*=)[^;,]*/gi, '') || '*/*').split(',', maxRanges)
  // The first of two equal ranges counts. Clients name multipart first for @defer, and get JSON if they accept it equally.
  const rankOf = (range: string) => (range.trim().startsWith('multipart/') ? 1 : 0)
  ranges.sort((one, other) => rankOf(one) - rankOf(other))
  return choosePreferred(ranges.join(), types)
}

export function isJsonType(type: MediaType): type is JsonType {
  return type.startsWith('application/')
}
