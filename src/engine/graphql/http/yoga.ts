import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ExecutionResult } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import { isErrorCode } from '../../errors.ts'
import { releaseSlots } from '../../http/plugins/load-shedding.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { toClientError } from '../operation/client-error.ts'
import type { OperationAnswer } from '../operation/operation-request.ts'
import type { Preparation, PreparedOperation, Preparer } from '../operation/prepare/prepare.ts'
import type { SubscriptionAnswer } from '../operation/subscribe.ts'
import { withMessage, withoutNames } from './client-result.ts'
import type { MediaType } from './negotiate.ts'
import type { GraphQLParams } from './params.ts'

/** A GraphQL request, and how its operation is executed. */
export interface YogaRequest {
  /** The media type of the answer. */
  readonly accept: MediaType
  readonly params: GraphQLParams
  readonly prepared: Preparation
  run(operation: PreparedOperation): Promise<OperationAnswer>
  /** @param signal aborts when the client has gone */
  subscribe(operation: PreparedOperation, signal: AbortSignal): Promise<SubscriptionAnswer>
}

interface YogaOptions {
  readonly operations: Pick<Preparer, 'schema'>
  readonly introspection: boolean
}

interface YogaInput extends Pick<YogaRequest, 'params' | 'prepared'> {
  run(): Promise<ExecutionResult>
  subscribe(): Promise<SubscriptionAnswer['events']>
}

/** Headers of Yoga's answer that Fastify sets itself. */
const connectionHeaders = new Set([
  ...['connection', 'content-encoding', 'content-length', 'keep-alive', 'transfer-encoding', 'cache-control'],
])

/**
 * Creates the function that answers a request by Yoga and returns the body. Yoga answers what is not a single JSON object:
 * subscriptions, and clients that accept only events or multipart.
 *
 * @throws GatewayError, from the function, if the operation is rejected
 */
export function createYogaAnswers(log: Logger, options: YogaOptions) {
  const yoga = createYogaServer(log, options)

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    { accept, params, prepared, ...execute }: YogaRequest,
  ) => {
    const aborted = new AbortController()
    reply.raw.once('close', () => {
      // Aborting creates an error with a stack, so it is not done for a complete answer.
      if (!reply.raw.writableFinished) aborted.abort()
    })
    // Yoga would answer the rejection of an operation in its own way.
    let rejection: unknown
    async function answerOf<Answer extends { readonly headers: Readonly<Record<string, string>> }>(
      start: (operation: PreparedOperation) => Promise<Answer>,
    ): Promise<Answer> {
      try {
        const answer = await start(prepared.operation as PreparedOperation)
        reply.headers(answer.headers)
        return answer
      } catch (error) {
        rejection = error
        throw error
      }
    }
    const input: YogaInput = {
      ...{ params, prepared },
      run: async () => asRequestError((await answerOf(execute.run)).result),
      subscribe: async () => (await answerOf((operation) => execute.subscribe(operation, aborted.signal))).events,
    }
    const { method, headers } = request
    const init = { method, headers: { ...(headers as Record<string, string>), accept }, signal: aborted.signal }
    const response = await yoga.fetch('http://gateway/graphql', init, input)
    if (rejection !== undefined) throw rejection
    reply.code(response.status)
    for (const [name, value] of response.headers) {
      if (!connectionHeaders.has(name.toLowerCase())) reply.header(name, value)
    }
    const { body } = response
    // Events are sent as they come. Any other answer is complete.
    if (!body || !isEventStream(response)) return response.text()
    reply.header('x-accel-buffering', 'no')
    releaseSlots(reply)
    return body
  }
}

/** The operation is prepared before, and executed by graphql/operation, as for every other request. */
function createYogaServer(log: Logger, { operations: { schema }, introspection }: YogaOptions) {
  return createYoga<YogaInput>({
    schema,
    graphqlEndpoint: '/graphql',
    plugins: [useParams, usePrepared, useOperations, useShownErrors(introspection)],
    maskedErrors: { maskError: (error) => toClientError(error, isAbort(error) ? silent : log) },
    parserAndValidationCache: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    logging: false,
  })
}

/** Yoga throws this when the client has gone. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

const silent: Logger = { error: () => undefined, warn: () => undefined }

const useParams: Plugin<object, YogaInput> = {
  onRequestParse({ serverContext, setRequestParser }) {
    setRequestParser(() => serverContext.params)
  },
}

const usePrepared: Plugin<YogaInput> = {
  onParse({ context, params, parseFn, setParseFn, setParsedDocument }) {
    const { operation } = context.prepared
    // A document with errors is parsed here too, so that a syntax error comes from Yoga's parsing step.
    if (operation) setParsedDocument(operation.document)
    else setParseFn(() => parseFn(params.source))
  },
  onValidate({ context, setResult }) {
    // Copies, because Yoga adds extensions to errors, and prepared errors are kept.
    setResult((context.prepared.errors ?? []).map((error) => withMessage(error, error.message)))
  },
}

const useOperations: Plugin<YogaInput> = {
  onExecute: ({ args, setExecuteFn }) => setExecuteFn(() => args.contextValue.run()),
  onSubscribe: ({ args, setSubscribeFn }) => setSubscribeFn(() => args.contextValue.subscribe()),
}

function useShownErrors(introspection: boolean): Plugin<object, YogaInput> {
  return {
    onResultProcess({ result, serverContext, setResult }) {
      if (!('errors' in result)) return
      // Yoga has codes of its own. Clients should have to know one list.
      for (const { extensions } of result.errors ?? []) {
        if (!isErrorCode(extensions['code'])) extensions['code'] = 'BAD_USER_INPUT'
        // An error is an event of the stream. Yoga would answer 500 for what a resolver threw.
        if (serverContext.prepared.operation?.kind === 'subscription') extensions['http'] = { status: 200 }
      }
      if (!introspection) setResult(withoutNames(result, serverContext.params))
    },
  }
}

/** Makes Yoga answer a result without data with status 400, except as `application/json`. */
function asRequestError(result: ExecutionResult): ExecutionResult {
  if ('data' in result) return result
  for (const { extensions } of result.errors ?? []) extensions['http'] = { spec: true, status: 400 }
  return result
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false
}
