import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ExecutionResult } from 'graphql'
import { GatewayError, retryAfterSeconds } from '../errors.ts'
import { onceOf } from '../http/once.ts'
import { contextOf, createAuthenticateHook, meterToItsEnd, type RouteDependencies } from '../http/request.ts'
import { isIdleFromHere } from '../http/shed-load.ts'
import type { Applicant } from '../limits/admission.ts'
import { acceptedType, requireAcceptable, statusOf } from './accepted-type.ts'
import { executeOnce, type OnceOnly } from './execute-once.ts'
import { createDocumentFinder } from './find-document.ts'
import { renderGraphiqlPage } from './graphiql.ts'
import { createKnownOperations } from './known-operations.ts'
import { type GraphQLParams, readBodyParams, readQueryParams } from './params.ts'
import type { TrustedDocuments } from './trusted-documents.ts'
import { withCost } from './with-cost.ts'
import { withoutNames } from './without-names.ts'
import { createYogaServer } from './yoga.ts'

export interface GraphQLOptions extends RouteDependencies {
  /** Whether a browser that opens /graphql gets GraphiQL. */
  readonly graphiql: boolean
  /** Whether the schema may be explored: by introspection, and by what GraphQL suggests when a name is wrong. */
  readonly introspection: boolean
  /** The documents that clients were built with; any document runs when absent. */
  readonly trustedDocuments?: TrustedDocuments | undefined
  /** The key of the demo tenant, filled into GraphiQL for a browser on this machine. */
  readonly demoKey?: string | undefined
}

/** GraphiQL makes its editor of inline scripts and of workers; it loads nothing from elsewhere, and nobody may frame it. */
const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src 'self' blob: data:; " +
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self' blob: data:; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

const ofTheConnection = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'transfer-encoding',
  'cache-control',
])

/** Serves /graphql: queries and mutations for clients, GraphiQL for a browser. */
export function registerGraphQL(app: FastifyInstance, options: GraphQLOptions): void {
  const { services, meter, admit, chooseReads, graphiql, introspection, demoKey } = options
  const yoga = createYogaServer(app.log, options)
  const documents = createDocumentFinder(options.trustedDocuments)
  const authenticate = createAuthenticateHook(options)
  const known = createKnownOperations()

  // One buffer for everybody: the page has 9 MB, and a slow reader would hold a copy of its own.
  const pages = new Map<string | undefined, Promise<Buffer>>()
  function page(apiKey: string | undefined): Promise<Buffer> {
    const rendered = pages.get(apiKey) ?? renderGraphiqlPage(apiKey).then((html) => Buffer.from(html))
    pages.set(apiKey, rendered)
    return rendered
  }

  // The handlers give back what is to be sent. A reply is a thenable, so an async function that gave back one would wait
  // for its own answer to be sent, with a listener for each of the ways that can end.
  async function answer(request: FastifyRequest, reply: FastifyReply, params: GraphQLParams, once?: OnceOnly) {
    const aborted = new AbortController()
    reply.raw.once('close', () => {
      // Aborting costs an error with a stack: not where the answer was sent whole.
      if (!reply.raw.writableFinished) aborted.abort()
    })
    let refusal: unknown
    const refuse = (error: unknown) => {
      refusal = error
      throw error
    }
    const response = await meter.run(request.sqlCount, () =>
      yoga.fetch(
        'http://gateway/graphql',
        { method: request.method, headers: request.headers as Record<string, string>, signal: aborted.signal },
        {
          params,
          gateway: contextOf(request, services),
          // A key that was revoked gets no more events.
          subscriber: {
            signal: aborted.signal,
            checkKey: () => authenticate(request),
            asRequest: (work) => meterToItsEnd(meter, request, work),
          },
          admit: (applicant) => admit(request, reply, applicant).catch(refuse),
          execute: (operation) =>
            chooseReads(request, operation, () => executeOnce(operation, once))
              .then((result) => sayWhenToRetry(reply, result))
              .catch(refuse),
          onOperation(document, name) {
            request.operation = name
            known.add(params.query ?? '', document)
            documents.keep(params)
          },
        },
      ),
    )
    // It is answered as any other refusal is, and not in Yoga's way.
    if (refusal !== undefined) throw refusal
    reply.code(response.status)
    // How the answer is sent is Fastify's to say.
    for (const [name, value] of response.headers)
      if (!ofTheConnection.has(name.toLowerCase())) reply.header(name, value)
    const { body } = response
    // Events are sent as they come; any other answer is whole, and not worth a stream.
    if (!body || !isEventStream(response)) return response.text()
    reply.header('x-accel-buffering', 'no')
    isIdleFromHere(reply)
    return body
  }

  /**
   * Answers an operation that Yoga has let pass before. Yoga's own way makes a request and a response of it once more,
   * which is a fifth of the work of a small answer.
   *
   * @returns the body; undefined when Yoga is to answer
   */
  async function answerKnown(request: FastifyRequest, reply: FastifyReply, params: GraphQLParams, once?: OnceOnly) {
    const type = acceptedType(request.headers.accept)
    const operation = type && known.find(params)
    if (!operation) return undefined
    request.operation = operation.name
    documents.keep(params)
    const { document } = operation
    const { operationName, variables } = params
    const applicant: Applicant = { document, operationName, variables }
    const admitted = await admit(request, reply, applicant)
    const context = contextOf(request, services)
    const result = await chooseReads(request, applicant, () =>
      meter.run(request.sqlCount, () => executeOnce({ ...applicant, context }, once)),
    )
    sayWhenToRetry(reply, result)
    reply.code(statusOf(result, type)).type(`${type}; charset=utf-8`)
    const shown = introspection ? result : withoutNames(result, params)
    return JSON.stringify(withCost(shown, applicant, admitted))
  }

  app.get('/graphql', {
    async onRequest(request) {
      if (!(graphiql && wantsPage(request))) await authenticate(request)
    },
    async handler(request, reply) {
      if (!request.viewer) {
        reply.headers(pageHeaders).type('text/html; charset=utf-8')
        return page(isFromThisMachine(request) ? demoKey : undefined)
      }
      requireAcceptable(request.headers.accept)
      const given = readQueryParams(request.query as Record<string, unknown>)
      return answer(request, reply, documents.find(given, request.log))
    },
  })

  app.post('/graphql', {
    async onRequest(request) {
      await authenticate(request)
    },
    async handler(request, reply) {
      if (request.body === undefined) throw new GatewayError('MALFORMED_REQUEST', 'The request has no body.')
      requireAcceptable(request.headers.accept)
      const params = documents.find(readBodyParams(request.body), request.log)
      // The document itself, however it was named: a retry may name it by its hash alone.
      const { query, operationName, variables } = params
      const once = onceOf(request, reply, services, [query, operationName, variables])
      return (await answerKnown(request, reply, params, once)) ?? answer(request, reply, params, once)
    },
  })
}

/** What is missing from an answer since the database is away may be there a little later. */
function sayWhenToRetry(reply: FastifyReply, result: ExecutionResult): ExecutionResult {
  if (result.errors?.some(({ extensions }) => extensions['code'] === 'SERVICE_UNAVAILABLE')) {
    reply.header('retry-after', retryAfterSeconds)
  }
  return result
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false
}

/** A browser that navigates: it accepts HTML, and has no way to send a key. */
function wantsPage({ headers }: FastifyRequest): boolean {
  return (headers.accept ?? '').includes('text/html') && headers['x-api-key'] === undefined
}

/**
 * Whether the request comes from this machine and was addressed to it. The second half keeps out a web page elsewhere
 * that has had its own name resolved to 127.0.0.1.
 */
function isFromThisMachine({ ip, hostname }: FastifyRequest): boolean {
  const isLoopback = (address: string) =>
    /^(127\.\d+\.\d+\.\d+|::1|\[::1\]|::ffff:127\.\d+\.\d+\.\d+|localhost)$/.test(address)
  return isLoopback(ip) && isLoopback(hostname)
}
