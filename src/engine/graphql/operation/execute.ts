import { type ExecutionResult, execute } from 'graphql'
import type { Context } from '../../context.ts'
import { noPlan } from '../../db/read/relation.ts'
import type { StatementCount } from '../../db/statement-meter.ts'
import type { Held } from '../../limits/held.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { errorAtEachPath, maxErrors, withholding } from '../schema/withheld.ts'
import { toClientError } from './client-error.ts'
import type { Values } from './prepare/coerce-variables.ts'
import { hasScopes, type PreparedOperation } from './prepare/prepare.ts'

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
  readonly statements: StatementCount
  readonly bodyLength: number
  readonly held: Held
  /** With a key, a mutation runs once however often it is sent. */
  readonly idempotencyKey?: IdempotencyKey | undefined
}

/** The result of an operation, and headers of the response. */
export interface OperationResponse {
  readonly result: ExecutionResult
  /** The length of its data as JSON, about, in characters. */
  readonly length: number
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
  const context = hasScopes(execution.context.viewer, operation) ? execution.context : withholding(execution.context)
  const run = async () => {
    const { errors, ...result } = toClientResult(await runOperation({ ...execution, context }, event), execution)
    return errors ? { errors: errorAtEachPath(context, errors), ...result } : result
  }
  return context.trace ? context.trace.operation(operation.kind, operation.name, run) : run()
}

async function runOperation({ operation, variables, context }: Execution, event: unknown): Promise<ExecutionResult> {
  const { errors, coerced = {} } = operation.coerce(variables)
  if (errors) return { errors }
  // For a viewer who lacks a scope, only fields that the viewer may see load their relations.
  const isAllowed = hasScopes(context.viewer, operation)
  const plan = operation.planOf(coerced, context)
  context.loaders.follow(isAllowed ? plan : { ...plan, branchesOf: noPlan.branchesOf })
  const compiled = event === undefined && isAllowed ? operation.compiled() : undefined
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
