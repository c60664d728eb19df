import { ownValue, recordOf } from '@fusion-gateway/base'
import type { Values } from '@fusion-gateway/pothos-trees'
import {
  coerceInputValue,
  GraphQLError,
  type GraphQLSchema,
  getVariableValues,
  isInputType,
  type OperationDefinitionNode,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'

/** Each error repeats the whole value. Without a limit graphql-js reports fifty of them. */
const maxErrors = 5

/** Variables with more values than this are not repeated in errors. */
const maxRepeated = 1_000

/**
 * Coerces the variables of an operation to their types and applies defaults. The result has no prototype: graphql-jit
 * also reads variables that have no value.
 */
export function coerceVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Values,
): { readonly errors?: readonly GraphQLError[]; readonly coerced?: Values } {
  const error = firstErrorOfLarge(schema, variableDefinitions, variables)
  if (error) return { errors: [error] }
  const { errors, coerced = {} } = getVariableValues(schema, variableDefinitions, variables, { maxErrors })
  return errors ? { errors } : { coerced: recordOf(Object.entries(coerced)) }
}

/** The first error of large variables, without the value: printing it would take longer than everything else. */
function firstErrorOfLarge(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  variables: Values,
): GraphQLError | undefined {
  if (!isLarge(variables)) return undefined
  for (const definition of definitions) {
    const name = definition.variable.name.value
    const type = typeFromAST(schema, definition.type)
    if (!Object.hasOwn(variables, name) || !isInputType(type)) continue
    try {
      coerceInputValue(ownValue(variables, name), type, (path, _value, error) => {
        const place = [name, ...path].join('.')
        throw new GraphQLError(`Variable "$${name}" got an invalid value at "${place}"; ${error.message}`, {
          nodes: definition,
        })
      })
    } catch (error) {
      return error as GraphQLError
    }
  }
  return undefined
}

/** Counts level by level, without recursion. */
function isLarge(variables: Values): boolean {
  let left = maxRepeated
  for (let level: unknown[] = [variables]; level.length > 0 && left >= 0; left -= level.length) {
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  return left < 0
}
