import { type DocumentNode, type ExecutionResult, execute } from 'graphql'
import type { Context } from '../context.ts'
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
  return { ...result, errors: result.errors.map((error) => toCallerError(error, context.log)) }
}
