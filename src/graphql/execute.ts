import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  getOperationAST,
} from 'graphql'
import type { Viewer } from '../auth/viewer.ts'
import type { Context, Logger } from '../context.ts'
import { toCallerError } from './caller-error.ts'
import { coerceVariables } from './coerce-variables.ts'
import { declareCoerced } from './coerced-variables.ts'
import { type CompiledQuery, compiledQuery } from './compiled.ts'
import { countNodes } from './count-nodes.ts'
import { fieldNames } from './field-names.ts'
import { requireScope } from './require-scope.ts'
import { executableSchema, guardedSchema } from './schema.ts'
import { mayRead, scopesOf } from './scopes-of.ts'

/** A validated operation, with what it is executed on. */
export interface Operation {
  readonly document: DocumentNode
  readonly operationName?: string | null | undefined
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined
  readonly context: Context
}

type Values = Readonly<Record<string, unknown>>

/** Who subscribes, for as long as they do. */
export interface Subscriber {
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
  /** Looks whether the key is still good, and what it may do now. Rejects when it is not. */
  checkKey(): Promise<Viewer>
  /** Pays for the nodes of an event. Rejects when the key cannot. */
  spend(points: number): Promise<unknown>
  /** Counts and traces what an event reads as the request's. Whoever takes the events is not a part of the request. */
  asRequest<Result>(work: () => Promise<Result>): Promise<Result>
}

/**
 * The one door to the resolvers, for /graphql and for every REST route.
 *
 * @param event what a subscription's field has to show, for an operation that is one
 * @returns the result, its errors as the caller may see them
 */
export function executeOperation(operation: Operation, event?: unknown): Promise<ExecutionResult> {
  const { document, operationName, context } = operation
  if (!context.trace) return run(operation, event)
  const { operation: kind = 'query', name } = getOperationAST(document, operationName) ?? {}
  return context.trace.operation(kind, name?.value, () => run(operation, event))
}

async function run(operation: Operation, event: unknown): Promise<ExecutionResult> {
  const { document, operationName, variables, context } = operation
  const { errors, coerced = {} } = coerceVariables(document, operationName, variables ?? {})
  if (errors) return shown({ errors }, operation)
  context.loaders.select(fieldNames(document))
  const compiled =
    event === undefined && mayRead(context.viewer, document) && compiledQuery(document, operationName, context.metrics)
  return compiled ? runCompiled(compiled, operation, coerced) : interpret(operation, coerced, event)
}

/** Executes an operation with graphql-js. */
export async function interpret(operation: Operation, coerced: Values, event?: unknown): Promise<ExecutionResult> {
  operation.context.metrics.operationRuns.inc({ executor: 'interpreted' })
  return shown(await execute({ ...argumentsOf(operation, coerced), rootValue: event }), operation)
}

/**
 * Executes a compiled operation, for a key that has every scope the operation names. The answer equals that of graphql-js
 * (test/compiled.test.ts).
 */
export async function runCompiled(
  compiled: CompiledQuery,
  operation: Operation,
  coerced: Values,
): Promise<ExecutionResult> {
  operation.context.metrics.operationRuns.inc({ executor: 'compiled' })
  return shown(await compiled(undefined, operation.context, coerced), operation)
}

/**
 * The same door for subscriptions.
 *
 * @returns a result for each event; or a single one when it is refused
 */
export async function subscribeToOperation(
  operation: Operation,
  { signal, checkKey, spend, asRequest }: Subscriber,
): Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>> {
  const { errors, coerced = {} } = coerceVariables(
    operation.document,
    operation.operationName,
    operation.variables ?? {},
  )
  if (errors) return shown({ errors }, operation)
  const events = await createSourceEventStream(argumentsOf(operation, coerced))
  if (!(Symbol.asyncIterator in events)) return shown(events, operation)
  const iterator = events[Symbol.asyncIterator]()
  // Nobody is left to end what a client that went away meanwhile has begun.
  if (signal.aborted) await iterator.return?.()
  const { document, operationName, context } = operation
  let isFirst = true

  async function resultOf(event: unknown): Promise<ExecutionResult> {
    requireTheSame(context.viewer, await checkKey(), document)
    // What an earlier event has read is of an earlier time.
    context.loaders.clearAll()
    const result = await asRequest(() => executeOperation(operation, event))
    // The first was paid for when it was let in.
    if (!isFirst) await spend(Math.max(1, countNodes(document, operationName, result.data)))
    isFirst = false
    return result
  }

  const results: AsyncIterableIterator<ExecutionResult> = {
    async next() {
      const { done, value: event } = await asRequest(() => iterator.next())
      if (done) return { done, value: undefined }
      try {
        return { done: false, value: await resultOf(event) }
      } catch (error) {
        await iterator.return?.()
        const refusal = asError(error)
        const errors = [new GraphQLError(refusal.message, { originalError: refusal })]
        return { done: false, value: shown({ errors }, operation) }
      }
    },
    async return() {
      await iterator.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => results,
  }
  return results
}

/** @throws GatewayError FORBIDDEN when the key may no longer see what it could when it subscribed */
function requireTheSame(before: Viewer, now: Viewer, document: DocumentNode): void {
  for (const scope of scopesOf(document)) if (before.scopes.includes(scope)) requireScope(now, scope)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function argumentsOf({ document, operationName, context }: Operation, coerced: Values) {
  return {
    // A key that may see all that is named need not be asked at each field.
    schema: mayRead(context.viewer, document) ? executableSchema : guardedSchema,
    document: declareCoerced(document),
    operationName: operationName ?? null,
    variableValues: coerced,
    contextValue: context,
  }
}

function shown(result: ExecutionResult, { context, document }: Operation): ExecutionResult {
  if (!result.errors) return result
  const { errors, ...rest } = result
  const log = logOnce(context.log)
  const callerErrors = errors.map((error) => toCallerError(error, log, document.loc?.source))
  for (const { extensions } of callerErrors) context.metrics.graphqlErrors.inc({ code: String(extensions['code']) })
  // First what went wrong: https://spec.graphql.org/October2021/#sec-Response-Format
  return { errors: callerErrors, ...rest }
}

/** A batch that fails does so for every field that waits for it, with one and the same error. */
function logOnce(log: Logger): Logger {
  const seen = new Set<unknown>()
  const once = (write: Logger['error']): Logger['error'] => {
    return (details, message) => {
      const error = 'err' in details ? details.err : details
      if (seen.has(error)) return
      seen.add(error)
      write(details, message)
    }
  }
  return { error: once((details, message) => log.error(details, message)), warn: (...line) => log.warn(...line) }
}
