import type { FastifyReply } from 'fastify'
import type { ExecutionResult } from 'graphql'
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga'
import { createAlarm } from '../../alarm.ts'
import { releasePermits } from '../../http/plugins/load-shedding.ts'
import { apolloMultipart, type Results } from './negotiate.ts'

interface YogaInput {
  readonly results: Results
}

/**
 * Creates the function that sends results through Yoga, as events or in parts, and returns the body.
 *
 * The operation is prepared, admitted and executed before, as for a JSON response. Yoga chooses the protocol by the header `accept`,
 * writes the results, sends heartbeats, and asks for the next result when the client has read the previous one.
 */
export function createYogaSender(heartbeatMilliseconds: number) {
  const yoga = createYoga<YogaInput>({
    plugins: [useResults, useApolloMultipart(heartbeatMilliseconds)],
    maskedErrors: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    logging: false,
  })

  return async (reply: FastifyReply, accept: string, results: Results) => {
    const request = { method: 'POST', headers: { accept } }
    const { headers, body } = await yoga.fetch('http://gateway/graphql', request, { results })
    // The other headers are about the connection, and Fastify's.
    reply.type(headers.get('content-type') ?? accept).header('x-accel-buffering', 'no')
    releasePermits(reply)
    return body
  }
}

const useResults: Plugin<object, YogaInput> = {
  onRequestParse({ setRequestParser }) {
    setRequestParser(() => ({ query: '' }))
  },
  onParams({ context, setResult }) {
    setResult(context.results)
  },
}

/** The first boundary. Each part ends with the next one, because clients read a part when they see the boundary after it. */
const firstBoundary = '\r\n--graphql'
const lastBoundary = '--\r\n'

const partOf = (message: object) =>
  `\r\ncontent-type: application/json; charset=utf-8\r\n\r\n${JSON.stringify(message)}\r\n--graphql`

/** Teaches Yoga Apollo's protocol. Yoga's own multipart responses are those of `@defer`. */
function useApolloMultipart(heartbeatMilliseconds: number): Plugin {
  return {
    onResultProcess({ request, setResultProcessor }) {
      if (request.headers.get('accept') !== apolloMultipart) return
      setResultProcessor((results) => {
        const body = streamOf(results as Results, heartbeatMilliseconds)
        return new Response(body, { headers: { 'content-type': apolloMultipart } })
      }, 'multipart/mixed')
    },
  }
}

/** A stream of bytes that asks for a part when the client has read those before. */
function streamOf(results: Results, heartbeatMilliseconds: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  const iterator = isAsyncIterable(results) ? results[Symbol.asyncIterator]() : undefined
  const messages = iterator ? withHeartbeats(iterator, heartbeatMilliseconds) : [{ payload: results }]
  const parts = partsOf(messages)
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      // First, because a generator that waits for a result does not return.
      await iterator?.return?.()
      await parts.return(undefined)
    },
  })
}

async function* partsOf(messages: AsyncIterable<object> | Iterable<object>): AsyncGenerator<string> {
  yield firstBoundary
  for await (const message of messages) yield partOf(message)
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
