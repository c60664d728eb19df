export type {
  Change,
  ChangeLog,
  FollowedTenant,
  LiveChanges,
  LogChanges,
  LogPosition,
  ReadChanges,
} from './change-log.ts'
export * from './context.ts'
export { removeExpiredResponses } from './idempotency/idempotency.ts'
export { lengthOf, pointsOfLength, usedPoints } from './operation/admit.ts'
export {
  executeOperation,
  type OperationRequest,
  type OperationResponse,
  type Precondition,
  resultOfError,
  toClientError,
} from './operation/execute.ts'
export {
  apolloMultipart,
  isJsonType,
  type JsonType,
  negotiate,
  negotiateJson,
  statusOf,
  statusOfError,
  subscriptionProtocol,
  wantsApolloMultipart,
} from './operation/negotiate.ts'
export { createOperations, type Operations, type OperationsOptions } from './operation/operations.ts'
export {
  createDocumentFinder,
  type DocumentFinder,
  type GraphQLParams,
  idempotencyKeyIn,
  readBodyParams,
  readKey,
  readQueryParams,
} from './operation/params.ts'
export {
  createDocumentCache,
  createPreparer,
  type DocumentCache,
  hasScopes,
  type PreparedOperation,
  type Preparer,
  type PreparerOptions,
} from './operation/prepare/prepare.ts'
export { buildSchemas, type Schemas, subgraphOf } from './operation/prepare/schemas.ts'
export { createResponseMemory, type ResponseMemoryOptions } from './operation/response-memory.ts'
export type { DocumentRequest, Results } from './operation/run.ts'
export type { SentResult } from './operation/send-each.ts'
export { readTrustedDocuments, type TrustedDocuments } from './operation/trusted-documents.ts'
export { WrittenResult } from './operation/written-result.ts'
export type { Exchange, ServerOptions } from './operation/yoga.ts'
export {
  type Authenticate,
  contextOf,
  createAuthenticate,
  idempotencyKeyPattern,
  onFlushed,
  onUnread,
  type RequestState,
  readIdempotencyKey,
  readsAnew,
  viewerOf,
} from './request.ts'
export {
  compressOnce,
  compressResponse,
  type Encoding,
  isKnown,
  matchesTag,
  preferredEncoding,
  respondConditionally,
  strongTag,
  tagOf,
  weakTag,
} from './response-body.ts'
export { Interruption, type SubscriptionValues } from './subscription-values.ts'
export { toHttpError } from './to-http-error.ts'

/** Yoga is loaded by the first operation, so that a start does not wait for it. */
export const loadYoga = () => import('./operation/yoga.ts')
