import { errorCodes, GatewayError } from '@fusion-gateway/base'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'

/** The media types of responses. Their order matters only if the client names a range, such as `*\/*`. */
const mediaTypes = [
  'application/json',
  'application/graphql-response+json',
  'text/event-stream',
  'multipart/mixed',
] as const

/** Apollo's multipart protocol for subscriptions, which the HttpLink of Apollo Client uses. */
export const apolloMultipart = 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0'

export type MediaType = (typeof mediaTypes)[number] | typeof apolloMultipart

export type JsonType = Extract<MediaType, `application/${string}`>

/**
 * Chooses the media type of a response by the header `accept` and its q-values. Other parameters are ignored.
 *
 * @throws GatewayError NOT_ACCEPTABLE. Call it before the operation runs: a client repeats a request that was not
 *   acceptable
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Legacy-Watershed
 */
export function negotiate(accept: string | undefined): MediaType {
  const { type } = choices.memo(accept ?? '')
  if (type === undefined) throw new GatewayError('NOT_ACCEPTABLE', `Accept one of ${mediaTypes.join(', ')}.`)
  return type
}

/** @throws GatewayError NOT_ACCEPTABLE */
export function negotiateJson(accept = ''): JsonType {
  const type = preferred(accept, mediaTypes.filter(isJsonType))
  if (type === undefined) {
    throw new GatewayError('NOT_ACCEPTABLE', 'The response to a batch is JSON. Accept application/json.')
  }
  return type
}

/**
 * The choices for headers that were sent recently: clients send only a few different ones. Long headers are not kept.
 */
const choices = new LRUCache<string, { readonly type: MediaType | undefined }>({
  max: 100,
  maxEntrySize: 500,
  sizeCalculation: (_choice, accept) => accept.length + 1,
  memoMethod: (accept) => ({ type: preferred(accept, mediaTypes) }),
})

/** @throws GatewayError NOT_ACCEPTABLE if a client accepts none */
export function subscriptionProtocol(accept = ''): 'text/event-stream' | typeof apolloMultipart {
  if (wantsApolloMultipart(accept)) return apolloMultipart
  if (preferred(accept, ['text/event-stream'])) return 'text/event-stream'
  throw new GatewayError('NOT_ACCEPTABLE', 'A subscription is sent as server-sent events. Accept text/event-stream.')
}

/**
 * Whether a client accepts the results of a subscription in Apollo's multipart protocol, and does not name server-sent
 * events.
 *
 * @see https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol
 */
export function wantsApolloMultipart(accept = ''): boolean {
  return !accept.includes('text/event-stream') && accept.split(',').some(isOfSubscriptions)
}

/**
 * Splits the range: one pattern for all of it takes tens of milliseconds for a header of 16 KiB that repeats its
 * beginning.
 */
function isOfSubscriptions(range: string): boolean {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  return type === 'multipart/mixed' && parameters.some((parameter) => /^subscriptionspec="?1\.0/.test(parameter))
}

/** How many media ranges are read. Browsers send ten; the thousands that fit into 16 KiB would take 10 ms. */
const maxRanges = 100

function preferred<Type extends string>(accept: string, types: readonly Type[]): Type | undefined {
  // An empty header accepts everything, like a missing one.
  const ranges = (accept.replaceAll(/;(?!\s*q\s*=)[^;,]*/gi, '') || '*/*').split(',', maxRanges)
  // The first of two equal ranges counts. Clients name multipart first for @defer, and get JSON if they accept it
  // equally.
  const rankOf = (range: string) => (range.trim().startsWith('multipart/') ? 1 : 0)
  ranges.sort((one, other) => rankOf(one) - rankOf(other))
  const chosen = new Negotiator({ headers: { accept: ranges.join() } }).mediaType(types)
  return types.find((type) => type === chosen)
}

export function isJsonType(type: MediaType): type is JsonType {
  return type.startsWith('application/')
}

/** The media types whose status says that a result has no data, because the operation was not executed. */
const strictTypes: readonly MediaType[] = ['application/graphql-response+json', 'multipart/mixed']

/** @see https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes */
export function statusOf(results: object, type: MediaType): number {
  return 'data' in results || !strictTypes.includes(type) ? 200 : 400
}

/**
 * The HTTP status of the error of an operation that is not executed. Apollo's clients send the document after a miss,
 * whatever its status. The newer media type has no status 200 without data.
 */
export function statusOfError({ code }: GatewayError, type: MediaType): number {
  return code === 'PERSISTED_QUERY_NOT_FOUND' ? statusOf({}, type) : errorCodes[code].status
}
