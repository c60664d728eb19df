import { type ExecutionResult, GraphQLError } from 'graphql'
import type { Services } from '../../context.ts'
import { logOutcome, type Outcome } from '../../http/plugins/request-lifecycle.ts'
import { contextOf, type RequestState, viewerOf } from '../../http/request.ts'
import { Held } from '../../limits/concurrency.ts'
import { type Metrics, Refusal } from '../../telemetry/metrics.ts'
import type { Tracing } from '../../telemetry/tracing.ts'
import { clientOf, maxNameLength } from '../../telemetry/usage.ts'
import { longResponse } from '../operation/admit.ts'
import { type IdempotencyKey, toClientError } from '../operation/execute.ts'
import type { Operations } from '../operation/operations.ts'
import { DocumentError } from '../operation/prepare/bounds.ts'
import type { PreparedOperation } from '../operation/prepare/prepare.ts'
import type { SubscriptionRequest } from '../operation/subscribe.ts'
import type { Results } from './negotiate.ts'
import { asksForPosition, type DocumentFinder, type GraphQLParams } from './params.ts'

export interface DocumentRunnerOptions {
  readonly services: Services
  readonly operations: Operations
  readonly documents: DocumentFinder
  /** Whether the schema may be explored by introspection and suggestions. */
  readonly introspection: boolean
}

/** The operation of a document, or the errors of the document. */
export type DocumentOperation =
  | { readonly operation: PreparedOperation; readonly errors?: undefined; readonly isBadRequest?: undefined }
  | { readonly operation?: undefined; readonly errors: readonly GraphQLError[]; readonly isBadRequest: boolean }

/** What a transport knows about an operation that it runs. */
export interface DocumentRun {
  readonly operation: PreparedOperation
  readonly params: GraphQLParams
  readonly bodyLength: number
  readonly idempotencyKey?: IdempotencyKey | undefined
  /** Whether the client asks for a response that is read now. Browsers say so when they open any WebSocket. */
  readonly readsAnew?: boolean
  /** How the events of a subscription reach the client. */
  readonly reader: Pick<SubscriptionRequest, 'checkKey' | 'onFlushed' | 'onUnread'>
}

export interface DocumentResponse {
  readonly results: Results
  readonly headers: Readonly<Record<string, string>>
  /** Whether writing it keeps the event loop busy: it waits in the parsing queue. */
  readonly isLong: boolean
}

/** Returns the functions that run the documents of clients, for every transport. Errors are as clients see them. */
export function createDocumentRunner({ services, operations, documents, introspection }: DocumentRunnerOptions) {
  const show = (results: Results) => (introspection ? results : resultsWithoutNames(results))

  return {
    /** @throws GatewayError RATE_LIMITED if the document is new and no points are left */
    async prepare(request: RequestState, params: GraphQLParams): Promise<DocumentOperation> {
      const { statements, headers, refusal, log } = request
      const viewer = viewerOf(request)
      const isAbandoned = () => statements.isAbandoned === true
      const { query, operationName } = params
      const prepared = await operations.prepareFor(viewer, query, operationName, isAbandoned, clientOf(headers))
      if (prepared.errors) {
        for (const error of prepared.errors) refusal.note(error)
        // Errors of the syntax have no nodes, and name nothing of the schema.
        const showError = (error: GraphQLError) => (introspection || !error.nodes ? error : withoutNames(error))
        return {
          errors: prepared.errors.map((error) => toClientError(showError(error), log)),
          isBadRequest: prepared.isBadRequest,
        }
      }
      request.operationName = prepared.operation.name
      documents.store(params, viewer.tenantAppId)
      return { operation: prepared.operation }
    },

    /** @throws GatewayError if the operation is not executed */
    async run(request: RequestState, { operation, params, reader, ...others }: DocumentRun): Promise<DocumentResponse> {
      const { statements, held, refusal } = request
      const { variables = {} } = params
      const withPosition = asksForPosition(request.headers, params)
      const context = contextOf(request, services)
      const toRun = { ...others, operation, variables, statements, held, context, withPosition }
      if (operation.kind === 'subscription') {
        const { events, headers } = await operations.subscribe({ ...toRun, ...reader })
        // From now on it only waits for events.
        held.leavePlace()
        return { results: show(noteRefusals(events, refusal)), headers, isLong: false }
      }
      const { result, length, headers } = await operations.runOperation(toRun)
      return { results: show(noteRefusals(result, refusal)), headers, isLong: length > longResponse }
    },
  }
}

/** The same results. The limits that have refused parts of them are noted when they are sent. */
function noteRefusals(results: Results, refusal: Refusal): Results {
  if (Symbol.asyncIterator in results) return noteEach(results, refusal)
  for (const error of results.errors ?? []) refusal.note(error)
  return results
}

async function* noteEach(results: AsyncIterable<ExecutionResult>, refusal: Refusal) {
  for await (const result of results) yield noteRefusals(result, refusal) as ExecutionResult
}

/** Results whose errors reveal no names of the schema. Used where the schema may not be introspected. */
function resultsWithoutNames(results: Results): Results {
  if (Symbol.asyncIterator in results) return eachWithoutNames(results)
  return results.errors ? { ...results, errors: results.errors.map(withoutNames) } : results
}

async function* eachWithoutNames(results: AsyncIterable<ExecutionResult>) {
  for await (const result of results) yield resultsWithoutNames(result) as ExecutionResult
}

/**
 * An error of a document or of a run, whose message reveals no names of the schema. graphql-js can leave out
 * suggestions of similar names (`hideSuggestions`), but names the types of fields and arguments, and repeats values.
 * Its messages are replaced as a whole, and locations say where the client has to look.
 *
 * `Cannot query field "nam" on type "User".` ⇒ `The schema does not allow "nam" here. …`
 */
function withoutNames(error: GraphQLError): GraphQLError {
  const { originalError, nodes = null, source = null, positions = null, path = null, extensions } = error
  // The errors of resolvers are this gateway's own, and name fields that the client has sent.
  if (originalError != null || error instanceof DocumentError) return error
  const name = sentAt(error)
  const subject = name === undefined ? 'this' : name.startsWith('$') ? `"${name}" or its value` : `"${name}"`
  const message = `The schema does not allow ${subject} here. Errors do not say more, because introspection is off.`
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}

/** The name in the client's document that an error is about. An error that was stored has a position, but no nodes. */
function sentAt({ source, positions }: GraphQLError): string | undefined {
  const [at] = positions ?? []
  return at === undefined ? undefined : /^[$@]?\w+/.exec(source?.body.slice(at, at + maxNameLength) ?? '')?.[0]
}

interface StartedOperation extends Pick<RequestState, 'headers' | 'viewer' | 'log'> {
  /** The id in the log, in traces, and in the events of what it changes. */
  readonly id: string
  /** What its trace calls it. */
  readonly method: string
  /** The headers with the trace that it continues. */
  readonly traceHeaders: RequestState['headers']
}

/** An operation with the state of a request, although it is none: one of a WebSocket, or of a batch. */
export interface OperationRequest extends RequestState {
  /** Logs, measures and traces the operation. Called once, when it has ended. */
  record(outcome: Omit<Outcome, 'milliseconds'>): void
}

/** Starts an operation: its count of statements, what it holds, its trace, and the clock of its line in the log. */
export function startRecorded(
  { id, method, traceHeaders, ...given }: StartedOperation,
  metrics: Metrics,
  tracing: Tracing | undefined,
): OperationRequest {
  const startedAt = performance.now()
  const trace = tracing?.begin({ method, route: '/graphql', headers: traceHeaders })
  const operation: OperationRequest = {
    ...given,
    statements: { statements: 0, requestId: id, observe: trace?.observe },
    refusal: new Refusal(metrics),
    held: new Held(),
    trace,
    operationName: undefined,
    record(outcome) {
      logOutcome(operation, { ...outcome, milliseconds: performance.now() - startedAt }, metrics)
      const { status, isCutOff } = outcome
      const { tenantAppId: tenant, keyName: key } = operation.viewer ?? {}
      trace?.end({ requestId: id, status, isCutOff, tenant, key })
    },
  }
  return operation
}
