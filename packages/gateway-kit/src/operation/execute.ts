import { type ErrorCode, errorCodes, type FieldError, GatewayError, isErrorCode } from '@fusion-gateway/base'
import type { Held } from '@fusion-gateway/limits'
import { errorAtEachPath, maxErrors, type Values, withMasks } from '@fusion-gateway/pothos-trees'
import { noPlan } from '@fusion-gateway/prisma-trees'
import type { RequestDatabase } from '@fusion-gateway/sql'
import { type Logger, toGatewayError } from '@fusion-gateway/telemetry'
import {
  type ExecutionResult,
  execute,
  type FieldNode,
  GraphQLError,
  type GraphQLErrorExtensions,
  type Source,
  type SourceLocation,
} from 'graphql'
import type { Context } from '../context.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import { hasScopes, type PreparedOperation } from './prepare/prepare.ts'
import type { KeptResponse } from './written-result.ts'

/** An operation to execute, with the variables as the client sent them. */
export interface Execution {
  readonly operation: PreparedOperation
  readonly variables: Values
  readonly context: Context
}

export interface IdempotencyKey {
  readonly key: string
  /** The request as text. Requests with the same key must be equal. */
  readonly request: string
}

export interface OperationRequest extends Execution {
  readonly statements: RequestDatabase
  readonly bodyLength: number
  readonly held: Held
  /** Whether the client asks for a response that is read now, and not one from the memory. */
  readonly readsAnew?: boolean
  /** Whether the client asks for the position in the event log. */
  readonly withPosition?: boolean
  /** Whether further pages are read after a response, which the points of the request pay for. */
  readonly goesOn?: (result: ExecutionResult) => boolean
  /** With a key, a mutation runs once however often it is sent. */
  readonly idempotencyKey?: IdempotencyKey | undefined
  /** Only for mutations. */
  readonly precondition?: Precondition | undefined
}

/** Decides whether a mutation is executed, by what it reads. With an idempotency key, both are one transaction. */
export interface Precondition {
  /** The points of what it reads. */
  readonly cost: number
  /**
   * @returns the variables to execute the mutation with
   * @throws GatewayError why the mutation is not executed. The result has this error
   */
  readonly check: (context: Context) => Promise<Values>
}

export interface OperationResponse {
  readonly result: ExecutionResult
  /** The length of its data as JSON, about, in characters. */
  readonly length: number
  readonly kept?: KeptResponse | undefined
  /** Whether it is stored now, for an idempotency key. */
  readonly isStored: boolean
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Executes an operation.
 *
 * @param event the value of a subscription's field
 * @returns the result, with its errors as the client sees them
 */
export async function executeOperation(execution: Execution, event?: unknown): Promise<ExecutionResult> {
  const { operation } = execution
  const seesAll = !operation.hasTypesOfRows && hasScopes(execution.context.viewer, operation)
  const context = seesAll ? execution.context : withMasks(execution.context)
  const run = async () => {
    const { errors, ...result } = toClientResult(await runOperation({ ...execution, context }, event), execution)
    return errors ? { errors: errorAtEachPath(context, errors), ...result } : result
  }
  return context.trace ? context.trace.operation(operation.kind, operation.name, run) : run()
}

/** Executes an operation, unless it is a mutation whose precondition does not hold. */
export async function executeIfPossible(request: ConditionalExecution): Promise<ExecutionResult> {
  const { operation, context, precondition, held } = request
  held.points?.begin()
  if (!precondition) return executeOperation(request)
  let variables: Values
  try {
    variables = await precondition.check(context)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const [field] = operation.definition.selectionSet.selections as readonly FieldNode[]
    const path = field ? [field.name.value] : []
    const located = new GraphQLError(error.message, { path, originalError: error })
    return { data: null, errors: [toClientError(located, context.log)] }
  }
  return executeOperation({ ...request, variables })
}

type ConditionalExecution = Pick<OperationRequest, keyof Execution | 'precondition' | 'held'>

async function runOperation({ operation, variables, context }: Execution, event: unknown): Promise<ExecutionResult> {
  const { errors, coerced = {} } = operation.coerce(variables)
  if (errors) return { errors }
  // For a viewer who lacks a scope, only fields that the viewer may see load their relations.
  const isAllowed = hasScopes(context.viewer, operation)
  const plan = operation.planOf(coerced, context)
  context.loaders.follow(isAllowed ? plan : { ...plan, branchesOf: noPlan.branchesOf })
  const compiled = operation.kind !== 'subscription' && isAllowed ? operation.compiled() : undefined
  context.metrics.operationRuns.inc({ executor: compiled ? 'compiled' : 'interpreted' })
  if (compiled) return compiled(undefined, context, coerced)
  return execute({ ...executionArgs(operation, context, coerced), rootValue: event })
}

/** The arguments for graphql-js. Fields check scopes only if the viewer lacks one that the operation needs. */
export function executionArgs(operation: PreparedOperation, context: Context, coerced: Values) {
  return {
    schema: hasScopes(context.viewer, operation) ? operation.schemas.executable : operation.schemas.guarded,
    document: operation.executable,
    operationName: operation.name ?? null,
    variableValues: coerced,
    contextValue: context,
  }
}

/** The result with its errors as the client sees them. Further ones are left out: their fields are null without one. */
export function toClientResult(result: ExecutionResult, { operation, context }: Execution): ExecutionResult {
  if (!result.errors) return result
  const { errors, ...rest } = result
  const log = logOnce(context.log)
  const source = operation.document.loc?.source
  // Errors come first: https://spec.graphql.org/October2021/#sec-Response-Format
  return { errors: errors.slice(0, maxErrors).map((error) => toClientError(error, log, source)), ...rest }
}

/** Counts the errors of a result in the metrics. Returns their codes. */
export function countErrors({ errors = [] }: ExecutionResult, { metrics }: Context): string[] {
  const codes = errors.map(({ extensions }) => String(extensions['code']))
  for (const code of codes) metrics.graphqlErrors.inc({ code })
  return codes
}

/** A batch that fails rejects every field that waits for it with the same error. */
function logOnce(log: Logger): Logger {
  const logged = new Set<unknown>()
  const once = (write: Logger['error']): Logger['error'] => {
    return (details, message) => {
      const error = 'err' in details ? details.err : details
      if (logged.has(error)) return
      logged.add(error)
      write(details, message)
    }
  }
  return { error: once((details, message) => log.error(details, message)), warn: (...line) => log.warn(...line) }
}

/**
 * Executes a mutation once per idempotency key. Its effects and its result are stored in one transaction. If the
 * gateway fails, the effects are rolled back, and the client may send the request again.
 *
 * @throws GatewayError IDEMPOTENCY_KEY_IN_USE, IDEMPOTENCY_KEY_REUSED; MALFORMED_REQUEST if the response has secrets,
 *   which are not stored
 */
export async function executeOnce(
  execution: ConditionalExecution,
  { key, request }: IdempotencyKey,
  idempotency: Idempotency,
): Promise<{ readonly result: ExecutionResult; readonly isReplay: boolean; readonly isStored: boolean }> {
  const { context, operation } = execution
  const { viewer, sql, within } = context
  if (operation.showsSecrets) {
    const message = 'The response has a secret, which is not stored. Send this operation without an idempotency key.'
    throw new GatewayError('MALFORMED_REQUEST', message)
  }
  let lines: (() => void)[] = []
  // Only the last run is logged: the client does not see runs that were repeated because of a conflict.
  const log: Logger = {
    error: (...line) => void lines.push(() => context.log.error(...line)),
    warn: (...line) => void lines.push(() => context.log.warn(...line)),
  }
  const { response, isReplay } = await idempotency.runOnce(
    sql,
    { viewer, idempotencyKey: key, request },
    (transaction) => {
      lines = []
      return executeIfPossible({ ...execution, context: { ...context, ...within(transaction), log } })
    },
    isFinal,
  )
  for (const write of lines) write()
  const isStored = !isReplay && isFinal(response)
  if (!isReplay || !response.errors) return { result: response, isReplay, isStored }
  const { source } = operation.document.loc ?? {}
  return {
    result: { ...response, errors: response.errors.map((error) => restoreError(error, source)) },
    isReplay,
    isStored,
  }
}

/** Whether sending the request again would change nothing: it did not fail on the side of the gateway. */
function isFinal({ errors = [] }: ExecutionResult): boolean {
  return errors.every(({ extensions: { code } }) => isErrorCode(code) && errorCodes[code].status < 500)
}

type StoredError = Pick<GraphQLError, 'message' | 'path' | 'locations' | 'extensions'>

/** The extensions that client-error.ts writes. */
interface StoredExtensions {
  readonly code: ErrorCode
  readonly fields?: readonly FieldError[]
}

function restoreError({ message, path, locations, extensions }: StoredError, source: Source | undefined) {
  const { code, fields = [], ...details } = extensions as unknown as StoredExtensions
  const positions = source && locations?.map((location) => positionOf(source, location))
  return new GraphQLError(message, {
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    extensions: extensions ?? {},
    // An error without a path is about the document or its variables, and no resolver threw it.
    originalError: path ? new GatewayError(code, message, { fields, details }) : null,
  })
}

/**
 * The error of a GraphQL response as the client sees it: with a code of the registry, and without anything internal.
 * Unexpected errors are logged whole.
 *
 * @param source the document that was executed
 */
export function toClientError(error: unknown, log: Logger, source?: Source): GraphQLError {
  if (!(error instanceof GraphQLError)) return fromThrown(error, undefined, log)
  return fromGraphQL(error.source ? error : withSource(error, source), log)
}

/** The errors of a compiled operation have locations but no document. */
function withSource(error: GraphQLError, source: Source | undefined): GraphQLError {
  const { locations, path, originalError, extensions, message } = error
  if (!source || !locations) return error
  const positions = locations.map((location) => positionOf(source, location))
  return new GraphQLError(message, { source, positions, path, originalError, extensions })
}

/** The result of an operation that was not executed. */
export function resultOfError({ code, message, details }: GatewayError) {
  return { errors: [{ message, extensions: { code, ...details } }] }
}

/** The error of an operation that is not executed, as plugins see it. */
export function refusalOf(originalError: GatewayError): GraphQLError {
  const { message, code, details } = originalError
  return new GraphQLError(message, { extensions: { code, ...details }, originalError })
}

/** The position of a line and column in a document, from 0. */
function positionOf({ body }: Source, { line, column }: SourceLocation): number {
  const ends = /\r\n|[\n\r]/g
  for (let left = line - 1; left > 0; left -= 1) ends.exec(body)
  return ends.lastIndex + column - 1
}

function fromGraphQL(error: GraphQLError, log: Logger): GraphQLError {
  const thrown = rootCause(error)
  if (thrown !== undefined) return fromThrown(thrown, error, log)
  if (!isCausedByClient(error)) return fromThrown(new Error(error.message), error, log)
  // Yoga notes there what the status depends on.
  const { http: _, ...extensions } = error.extensions
  return located(error, shortened(error.message), { ...extensions, code: 'BAD_USER_INPUT' })
}

const maxMessageLength = 1_000

/**
 * graphql-js repeats a rejected value, whole, in each of its errors. The start and the end of the message say what is
 * wrong.
 */
function shortened(message: string): string {
  if (message === 'Validation aborted.') return 'The document repeats its fields too often to be validated.'
  return message.length > maxMessageLength ? `${message.slice(0, 500)}…${message.slice(-400)}` : message
}

/**
 * Whether graphql-js reports what the client sent: syntax, validation, variables. An error with a path is about a value
 * that a resolver returned, which is a defect; but an argument whose variable is null has a path too.
 */
function isCausedByClient({ path, message }: GraphQLError): boolean {
  return path === undefined || message.startsWith('Argument "')
}

function fromThrown(thrown: unknown, origin: GraphQLError | undefined, log: Logger): GraphQLError {
  const error = toGatewayError(thrown, log)
  const fields = error.fields.length > 0 && { fields: error.fields }
  return located(origin, error.message, { code: error.code, ...error.details, ...fields }, error)
}

function located(
  origin: GraphQLError | undefined,
  message: string,
  extensions: GraphQLErrorExtensions,
  originalError: Error | null = null,
): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null } = origin ?? {}
  return new GraphQLError(message, { nodes, source, positions, path, originalError, extensions })
}

/** What a resolver threw, below the errors that GraphQL wraps around it; undefined if the error is GraphQL's own. */
function rootCause(error: GraphQLError): unknown {
  let cause: unknown = error.originalError
  while (cause instanceof GraphQLError) cause = cause.originalError
  return cause
}
