import type { FastifyReply } from 'fastify'
import { createYoga, type Plugin } from 'graphql-yoga'
import { releasePermits } from '../../http/plugins/load-shedding.ts'
import type { Results } from './client-result.ts'
import { useApolloMultipart } from './multipart.ts'

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
