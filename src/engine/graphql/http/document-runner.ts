import type { ExecutionResult, GraphQLError } from 'graphql'
import type { Services } from '../../context.ts'
import { contextOf, type RequestState, viewerOf } from '../../http/request.ts'
import type { Refusal } from '../../telemetry/refusal.ts'
import { clientOf } from '../../telemetry/usage/client.ts'
import { toClientError } from '../operation/client-error.ts'
import type { IdempotencyKey } from '../operation/execute.ts'
import type { Operations } from '../operation/operations.ts'
import type { PreparedOperation } from '../operation/prepare/prepare.ts'
import { longResponse } from '../operation/response-length.ts'
import type { SubscriptionRequest } from '../operation/subscribe.ts'
import type { DocumentFinder } from './documents.ts'
import type { Results } from './negotiate.ts'
import type { GraphQLParams } from './params.ts'
import { resultsWithoutNames, withoutNames } from './without-names.ts'

export interface DocumentRunnerOptions {
  readonly services: Services
  readonly operations: Operations
  readonly documents: DocumentFinder
  /** Whether the schema may be explored by introspection and suggestions. */
  readonly introspection: boolean
}

/** The operation of a document, or the errors of the document. */
export type DocumentOperation =
  | { readonly operation: PreparedOperation; readonly errors?: undefined }
  | { readonly operation?: undefined; readonly errors: readonly GraphQLError[]; readonly isBadRequest: boolean }

/** What a transport knows about an operation that it runs. */
export interface DocumentRun {
  readonly operation: PreparedOperation
  readonly params: GraphQLParams
  readonly bodyLength: number
  readonly idempotencyKey?: IdempotencyKey | undefined
  /** How the events of a subscription reach the client. */
  readonly reader: Pick<SubscriptionRequest, 'checkKey' | 'onFlushed' | 'onUnread'>
}

export interface DocumentResponse {
  readonly results: Results
  readonly headers: Readonly<Record<string, string>>
  /** Whether writing it keeps the event loop busy: it waits in the queue of steps. */
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
      const toRun = { ...others, operation, variables, statements, held, context: contextOf(request, services) }
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
