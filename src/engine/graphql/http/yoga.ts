import type { FastifyReply } from 'fastify'
import type { ExecutionResult } from 'graphql'
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga'
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
        const parts = partsOf(results as Results, heartbeatMilliseconds)
        return new Response(streamOf(parts), { headers: { 'content-type': apolloMultipart } })
      }, 'multipart/mixed')
    },
  }
}

/** A stream of bytes that asks for a part when the client has read those before. */
function streamOf(parts: AsyncGenerator<string>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await parts.return(undefined)
    },
  })
}

async function* partsOf(results: Results, heartbeatMilliseconds: number): AsyncGenerator<string> {
  yield firstBoundary
  if (isAsyncIterable(results)) {
    for await (const message of withHeartbeats(results, heartbeatMilliseconds)) yield partOf(message)
  } else yield partOf({ payload: results })
  yield lastBoundary
}

/** The messages of results. While there is no result, an empty message keeps the connection open. */
async function* withHeartbeats(
  results: AsyncIterable<ExecutionResult>,
  milliseconds: number,
): AsyncGenerator<{ readonly payload?: ExecutionResult }> {
  const iterator = results[Symbol.asyncIterator]()
  try {
    for (let next = iterator.next(); ; ) {
      const result = await within(milliseconds, next)
      if (result?.done) return
      yield result ? { payload: result.value } : {}
      if (result) next = iterator.next()
    }
  } finally {
    await iterator.return?.()
  }
}

/** What a promise resolves to, or undefined when the time is over. */
async function within<Value>(milliseconds: number, promise: Promise<Value>): Promise<Value | undefined> {
  const { promise: timeout, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, milliseconds, undefined).unref()
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}
