import type { PassThrough } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { ExecutionResult } from 'graphql'
import { releaseSlots } from '../../../http/plugins/load-shedding.ts'
import type { SubscriptionAnswer } from '../../operation/subscribe.ts'
import { closeWithClient, createLiveBody } from './live-body.ts'
import { sendResults } from './send-results.ts'

/** Apollo's multipart protocol for subscriptions, which the HttpLink of Apollo Client uses. */
const contentType = 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0'

/** The first boundary. Each part ends with the next one, because clients read a part when they see the boundary after it. */
const firstBoundary = '\r\n--graphql'
const lastBoundary = '--\r\n'

const partOf = (message: object) =>
  `\r\ncontent-type: application/json; charset=utf-8\r\n\r\n${JSON.stringify(message)}\r\n--graphql`

/**
 * Whether a client accepts the results of a subscription in Apollo's multipart protocol, and does not name server-sent events.
 *
 * @see https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol
 */
export function wantsMultipart(accept = ''): boolean {
  return !accept.includes('text/event-stream') && accept.split(',').some(isOfSubscriptions)
}

/** Splits the range: one pattern for all of it takes tens of milliseconds for a header of 16 KiB that repeats its beginning. */
function isOfSubscriptions(range: string): boolean {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  return type === 'multipart/mixed' && parameters.some((parameter) => /^subscriptionspec="?1\.0/.test(parameter))
}

/**
 * Answers a subscription in Apollo's multipart protocol.
 *
 * @param subscribe starts the subscription. Its signal aborts when the client has gone
 * @param show what the client may see of a result
 * @returns the body
 * @throws GatewayError if the subscription is rejected
 */
export async function answerMultipart(
  reply: FastifyReply,
  subscribe: (signal: AbortSignal) => Promise<SubscriptionAnswer>,
  show: (result: ExecutionResult) => ExecutionResult,
  heartbeatMilliseconds?: number,
): Promise<PassThrough> {
  const { stream, signal, send, end } = createLiveBody(partOf({}), heartbeatMilliseconds)
  closeWithClient(stream, reply)
  const { events, headers } = await subscribe(signal).catch((error: unknown) => {
    stream.destroy()
    throw error
  })
  reply.headers(headers).header('x-accel-buffering', 'no').type(contentType)
  releaseSlots(reply)
  stream.write(firstBoundary)
  const receiver = { signal, send: (result: ExecutionResult) => send(partOf({ payload: show(result) })) }
  void sendResults(events, receiver, reply.log).then(() => end(lastBoundary))
  return stream
}
