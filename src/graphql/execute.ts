import { type DocumentNode, type ExecutionResult, execute } from 'graphql'
import type { Context, Logger } from '../context.ts'
import { toCallerError } from './caller-error.ts'
import { schema } from './schema.ts'

/** A validated operation, with what it is executed on. */
export interface Operation {
  readonly document: DocumentNode
  readonly operationName?: string | null | undefined
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined
  readonly context: Context
}

/**
 * The one door to the resolvers, for /graphql and for every REST route.
 *
 * @returns the result, its errors as the caller may see them
 */
export async function executeOperation(operation: Operation): Promise<ExecutionResult> {
  const { document, operationName, variables, context } = operation
  const result = await execute({
    schema,
    document,
    operationName: operationName ?? null,
    variableValues: variables ?? {},
    contextValue: context,
  })
  if (!result.errors) return result
  const log = logOnce(context.log)
  return { ...result, errors: result.errors.map((error) => toCallerError(error, log)) }
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
