import type { FastifyReply } from 'fastify'
import type { ExecutionResult } from 'graphql'
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga'
import { onFlushed } from '../../http/request.ts'
import { createAlarm } from '../../repeat.ts'
import { Interruption } from '../../subscription-values.ts'
import { apolloMultipart, type Results } from './negotiate.ts'

/** Teaches Yoga Apollo's protocol. Yoga's own multipart responses are those of `@defer`. */
function useApolloMultipart(heartbeatMilliseconds: number): Plugin<object, YogaInput> {
  return {
    onResultProcess({ request, serverContext, setResultProcessor }) {
      if (request.headers.get('accept') !== apolloMultipart) return
      setResultProcessor((results) => {
        const body = streamOf(results as Results, heartbeatMilliseconds, serverContext.flushed)
        return new Response(body, { headers: { 'content-type': apolloMultipart } })
      }, 'multipart/mixed')
    },
  }
}

/** A stream of bytes that asks for the next part when the buffers of the connection have room. */
function streamOf(
  results: Results,
  heartbeatMilliseconds: number,
  flushed: YogaInput['flushed'],
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  const iterator = isAsyncIterable(results) ? results[Symbol.asyncIterator]() : undefined
  const messages = iterator ? withHeartbeats(iterator, heartbeatMilliseconds) : [{ payload: results }]
  const parts = breakingWhenFlushed(partsOf(messages), flushed)
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      // First, because a generator that waits for a result does not return.
      await iterator?.return?.()
      await parts.return?.()
    },
  })
}

/**
 * The first boundary. Each part ends with the next one, because clients read a part when they see the boundary after
 * it.
 */
const firstBoundary = '\r\n--graphql'
const lastBoundary = '--\r\n'

const partOf = (message: object) =>
  `\r\ncontent-type: application/json; charset=utf-8\r\n\r\n${JSON.stringify(message)}\r\n--graphql`

/** Tells Apollo's clients why the connection ends. A payload that is not null would be a result of the subscription. */
const transportError = ({ message, code }: Interruption) => ({
  payload: null,
  errors: [{ message, extensions: { code } }],
})

async function* partsOf(messages: AsyncIterable<object> | Iterable<object>): AsyncGenerator<string> {
  yield firstBoundary
  try {
    for await (const message of messages) yield partOf(message)
  } catch (error) {
    if (error instanceof Interruption) yield partOf(transportError(error))
    throw error
  }
  yield lastBoundary
}

/** The messages of results. While there is no result, an empty message keeps the connection open. */
async function* withHeartbeats(
  iterator: AsyncIterator<ExecutionResult>,
  milliseconds: number,
): AsyncGenerator<{ readonly payload?: ExecutionResult }> {
  const alarm = createAlarm()
  try {
    for (;;) {
      const next = iterator.next()
      let hasArrived = false
      // One handler for all heartbeats: `Promise.race` would add one for each, which stay until the result arrives.
      const note = () => {
        hasArrived = true
        alarm.ring()
      }
      next.then(note, note)
      for (;;) {
        await alarm.wait(milliseconds)
        if (hasArrived) break
        yield {}
      }
      const result = await next
      if (result.done) return
      yield { payload: result.value }
    }
  } finally {
    await iterator.return?.()
  }
}

interface YogaInput {
  readonly results: Results
  /** Resolves when the client has received what was sent so far, or has gone. */
  flushed(): Promise<void>
}

/**
 * The same items. They fail only when the client has received those before: what is not yet sent is lost with the
 * connection.
 *
 * No generator, because that would return only after the item that it waits for.
 *
 * @param flushed resolves when the client has received what was sent so far, or has gone
 */
function breakingWhenFlushed<Item>(
  items: AsyncIterable<Item>,
  flushed: () => Promise<void>,
): AsyncIterableIterator<Item, undefined, undefined> {
  const iterator = items[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      try {
        return await iterator.next()
      } catch (error) {
        await flushed()
        throw error
      }
    },
    async return() {
      await iterator.return?.()
      return { done: true, value: undefined }
    },
  }
}

/**
 * A stream that cancels its source when it fails. Yoga's timer of heartbeats would otherwise go on for up to 12 s after
 * a subscription has been broken off, and a process that stops would wait for it.
 */
class CancellingStream<Chunk> extends ReadableStream<Chunk> {
  constructor(source: UnderlyingDefaultSource<Chunk> = {}, strategy?: QueuingStrategy<Chunk>) {
    super(
      {
        ...source,
        start(controller) {
          const fail = controller.error.bind(controller)
          controller.error = (error) => {
            fail(error)
            void source.cancel?.(error)
          }
          return source.start?.(controller)
        },
      },
      strategy,
    )
  }
}

/** Node's own classes. Yoga's are an implementation for old versions of Node. */
const fetchAPI = {
  Headers,
  ReadableStream: CancellingStream as typeof ReadableStream,
  Request,
  Response,
  TextEncoder,
  URL,
}

/**
 * Returns a function that sends results through Yoga, as events or in parts, and returns the body.
 *
 * The operation is prepared, admitted and executed before, as for a JSON response. Yoga chooses the protocol by the
 * header `accept`, writes the results, sends heartbeats, and asks for the next result when the buffers of the
 * connection have room. An interruption is an error of the body, for which Fastify ends the connection without
 * completing the response.
 */
export function createYogaSender(heartbeatMilliseconds: number) {
  const yoga = createYoga<YogaInput>({
    plugins: [useResults, useApolloMultipart(heartbeatMilliseconds)],
    fetchAPI,
    maskedErrors: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    logging: false,
  })

  return async (reply: FastifyReply, accept: string, results: Results) => {
    const request = { method: 'POST', headers: { accept } }
    const { headers, body } = await yoga.fetch('http://gateway/graphql', request, {
      results,
      flushed: () => new Promise<void>(onFlushed(reply)),
    })
    // The other headers are about the connection, and Fastify's.
    reply.type(headers.get('content-type') ?? accept).header('x-accel-buffering', 'no')
    return body
  }
}

const useResults: Plugin<object, YogaInput> = {
  onRequestParse({ setRequestParser }) {
    setRequestParser(() => ({ query: '' }))
  },
  onParams({ context, setResult }) {
    const { results, flushed } = context
    setResult(isAsyncIterable(results) ? breakingWhenFlushed(results, flushed) : results)
  },
}
