import type { FastifyReply } from 'fastify'
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga'
import { onFlushed } from '../../http/request.ts'
import { useApolloMultipart } from './apollo-multipart.ts'
import { breakingWhenFlushed } from './breaking-when-flushed.ts'
import type { Results } from './negotiate.ts'
import type { YogaInput } from './yoga-input.ts'

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
