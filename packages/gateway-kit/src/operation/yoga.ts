import { createAlarm } from '@fusion-gateway/base'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ExecutionResult, GraphQLSchema } from 'graphql'
import { createYoga, type GraphiQLOptions, isAsyncIterable, type Plugin } from 'graphql-yoga'
import { onFlushed } from '../request.ts'
import { Interruption } from '../subscription-values.ts'
import { toHttpError } from '../to-http-error.ts'
import { refusalOf } from './execute.ts'
import { apolloMultipart, isJsonType, type MediaType } from './negotiate.ts'
import type { GraphQLParams } from './params.ts'
import type { GatewayPlugin, PluginContext, Results } from './run.ts'
import { WrittenResult } from './written-result.ts'

export interface ServerOptions {
  readonly schema: GraphQLSchema
  /** What every operation passes, whatever its transport. */
  readonly path: readonly GatewayPlugin[]
  /** Those of operators. */
  readonly plugins: readonly Plugin[]
  /** How often a subscription in Apollo's multipart protocol sends a heartbeat. */
  readonly heartbeatMilliseconds: number
  /** Writes the page of GraphiQL. Without it there is none. */
  readonly renderGraphiql?: ((options?: GraphiQLOptions) => Promise<string>) | undefined
}

/** A request that Yoga serves. */
export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly params?: GraphQLParams
  /** What GraphiQL shows, for a browser that opens it. */
  readonly graphiql?: GraphiQLOptions
  /**
   * Executes the operation.
   *
   * @param context what Yoga knows about the request
   */
  readonly execute?: (params: GraphQLParams, context: object) => Promise<{ results: Results; type: MediaType }>
  readonly write?: (results: Results) => Promise<string>
  /** Why the operation is not executed. */
  failure?: { readonly error: unknown }
}

/** Plugins see it. A function, because the request has the credential: no plugin can log it by accident. */
interface Served {
  readonly exchange: () => Exchange
}

export type GatewayServer = ReturnType<typeof createServer>

/**
 * Creates the server of /graphql: its plugins are what an operation passes, and those of operators. Transports call its
 * functions by `getEnveloped`, or let it serve a whole request by `serve`.
 */
export function createServer({ schema, path, plugins, heartbeatMilliseconds, renderGraphiql }: ServerOptions) {
  const yoga = createYoga<Served, PluginContext>({
    schema,
    plugins: [useExchange(heartbeatMilliseconds), ...path, ...plugins],
    fetchAPI,
    graphiql: renderGraphiql ? (_request, { exchange }) => exchange().graphiql ?? false : false,
    ...(renderGraphiql && { renderGraphiQL: renderGraphiql }),
    // Documents are parsed once, and errors masked, by plugins of the path.
    parserAndValidationCache: false,
    maskedErrors: false,
    // Fastify does these.
    maxRequestBodySize: false,
    landingPage: false,
    cors: false,
    logging: false,
  })
  const { getEnveloped } = yoga

  return {
    getEnveloped: getEnveloped as (context: PluginContext) => ReturnType<typeof getEnveloped>,
    dispose: () => yoga.dispose(),

    /** Serves a request. Returns the body of its response. Headers of plugins are among those of the response. */
    async serve(exchange: Exchange): Promise<string | Buffer | ReadableStream | null> {
      const { request, reply } = exchange
      const { search } = new URL(request.url, 'http://gateway')
      const { method } = request
      const init = { method, headers: shownHeaders(request) }
      const response = await yoga.fetch(`http://gateway/graphql${search}`, init, { exchange: () => exchange })
      const { status, headers, body } = response
      const type = headers.get('content-type') ?? ''
      const isStream = /^(?:text\/event-stream|multipart\/)/.test(type)
      for (const [name, value] of headers) if (!isStream || !ofConnection.has(name)) reply.header(name, value)
      if (exchange.failure) throw exchange.failure.error
      if (isStream) {
        reply.header('x-accel-buffering', 'no')
        return body
      }
      reply.code(status)
      return type.startsWith('text/html') ? Buffer.from(await response.arrayBuffer()) : response.text()
    },
  }
}

/** Headers that Yoga sets for streams, and Fastify for connections. */
const ofConnection = new Set(['connection', 'cache-control', 'content-encoding', 'transfer-encoding'])

/** Plugins see no credential. The body was read before. */
const hidden = new Set([
  'authorization',
  'x-api-key',
  'cookie',
  'proxy-authorization',
  'content-length',
  'transfer-encoding',
])

function shownHeaders({ headers }: FastifyRequest): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    hidden.has(name) || value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
}

/**
 * Lets Yoga serve a request that Fastify has read. Yoga's own multipart responses are those of `@defer`, not Apollo's.
 */
function useExchange(heartbeatMilliseconds: number): Plugin<object, Served> {
  return {
    onRequestParse({ serverContext, setRequestParser }) {
      const { documentId: _, ...params } = serverContext.exchange().params ?? {}
      setRequestParser(() => ({ query: '', ...params }))
    },
    onParams({ context, params: parsed, setParamsHandler }) {
      const exchange = context.exchange()
      setParamsHandler(async ({ params, request }) => {
        try {
          // Plugins may have found another document.
          const own = params === parsed ? exchange.params : params
          const executed = await exchange.execute?.((own ?? {}) as GraphQLParams, Object.assign(context, { request }))
          if (!executed) throw new Error('There is nothing to execute')
          const { results, type } = executed
          request.headers.set('accept', type)
          if (!isAsyncIterable(results)) return isJsonType(type) ? results : WrittenResult.toObject(results)
          return breakingWhenFlushed(results, () => new Promise(onFlushed(exchange.reply)))
        } catch (error) {
          exchange.failure = { error }
          return { errors: [refusalOf(toHttpError(error, exchange.request))] }
        }
      })
    },
    onResultProcess({ request, serverContext, setResultProcessor }) {
      const exchange = serverContext.exchange()
      const accept = request.headers.get('accept') ?? ''
      if (exchange.failure) return setResultProcessor(() => new Response(), 'application/json')
      if (accept === apolloMultipart) {
        const respond = (results: unknown) =>
          new Response(
            streamOf(results as Results, heartbeatMilliseconds, () => new Promise(onFlushed(exchange.reply))),
            {
              headers: { 'content-type': apolloMultipart },
            },
          )
        return setResultProcessor(respond, 'multipart/mixed')
      }
      if (!isJsonType(accept as MediaType)) return undefined
      const respond = async (results: unknown) => {
        const body = await exchange.write?.(results as Results)
        const { statusCode: status } = exchange.reply
        return new Response(body ?? null, { status, headers: { 'content-type': `${accept}; charset=utf-8` } })
      }
      return setResultProcessor(respond as never, 'application/json')
    },
  }
}

/** A stream of bytes that asks for the next part when the buffers of the connection have room. */
function streamOf(
  results: Results,
  heartbeatMilliseconds: number,
  flushed: () => Promise<void>,
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

/** Each part ends with the next boundary: clients read a part when they see the boundary after it. */
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
