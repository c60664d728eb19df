import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Authenticate, onFlushed, onUnread, viewerOf } from '../../http/request.ts'
import type { FairQueue } from '../../limits/fair-queue.ts'
import type { IdempotencyKey } from '../operation/execute.ts'
import { createDocumentRunner, type DocumentRunnerOptions } from './document-runner.ts'
import { isJsonType, type MediaType, negotiate, type Results, statusOf, subscriptionProtocol } from './negotiate.ts'
import type { GraphQLParams } from './params.ts'
import type { createYogaSender } from './yoga.ts'

export interface ResponderOptions extends DocumentRunnerOptions {
  readonly authenticate: Authenticate
  /** The queue of steps that keep the event loop busy. */
  readonly steps: FairQueue
  /** How often a subscription in Apollo's multipart protocol sends a heartbeat. */
  readonly heartbeatMilliseconds: number
}

/**
 * Returns a function that executes the operation of a request and returns the body of the response. It writes JSON
 * itself; Yoga writes everything else.
 */
export function createResponder(options: ResponderOptions) {
  const { authenticate, steps, heartbeatMilliseconds } = options
  const runner = createDocumentRunner(options)
  const send = createSender(heartbeatMilliseconds)

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    params: GraphQLParams,
    idempotencyKey?: IdempotencyKey,
  ) => {
    const { accept } = request.headers
    const type = negotiate(accept)
    const prepared = await runner.prepare(request, params)
    const { operation, errors } = prepared
    if (errors) return send(reply, type, { errors }, prepared.isBadRequest ? 400 : undefined)
    if (operation.kind === 'mutation' && request.method === 'GET') return rejectMutationByGet(reply, type)
    const toSend = operation.kind === 'subscription' ? subscriptionProtocol(accept) : type
    const checkKey = () => authenticate(request)
    const reader = { checkKey, onFlushed: onFlushed(reply), onUnread: onUnread(reply) }
    const { bodyLength } = request
    const toRun = { operation, params, bodyLength, idempotencyKey, reader }
    const { results, headers, isLong } = await runner.run(request, toRun)
    reply.headers(headers)
    // The length of a compressed response can reveal a secret in it to someone who chooses a part of the response
    // (BREACH).
    if (operation.showsSecrets) reply.header('cache-control', 'no-store, no-transform')
    return isLong ? steps.run(viewerOf(request), () => send(reply, toSend, results)) : send(reply, toSend, results)
  }
}

/** Returns a function that writes results in a media type, and returns the body. */
function createSender(heartbeatMilliseconds: number) {
  // Yoga is a fifth of all modules. Clients that ask only for JSON never need it.
  let yogaSender: Promise<ReturnType<typeof createYogaSender>> | undefined
  const sendByYoga: ReturnType<typeof createYogaSender> = async (...response) => {
    yogaSender ??= import('./yoga.ts').then(({ createYogaSender }) => createYogaSender(heartbeatMilliseconds))
    return (await yogaSender)(...response)
  }
  return async (
    reply: FastifyReply,
    type: MediaType,
    results: Results,
    status = statusOf(results, type),
  ): Promise<string | ReadableStream | null> => {
    reply.code(status)
    if (!isJsonType(type)) return sendByYoga(reply, type, results)
    reply.type(`${type}; charset=utf-8`)
    return JSON.stringify(results)
  }
}

/** The message is that of Yoga. */
function rejectMutationByGet(reply: FastifyReply, type: MediaType): string {
  const message = 'Can only perform a mutation operation from a POST request.'
  const contentType = isJsonType(type) ? type : 'application/json'
  reply.code(405).header('allow', 'POST').type(`${contentType}; charset=utf-8`)
  return JSON.stringify({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' } }] })
}
