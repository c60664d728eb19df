import {
  coerceInputValue,
  GraphQLError,
  type GraphQLSchema,
  type GraphQLType,
  getNullableType,
  getVariableValues,
  isInputObjectType,
  isInputType,
  isListType,
  type OperationDefinitionNode,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'
import { own, recordOf } from '../../../own.ts'

/** The longest list that a variable may have. Fields accept at most 500 entries. */
export const maxListLength = 1_000

export type Values = Readonly<Record<string, unknown>>

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
  const error =
    longList(schema, variableDefinitions, variables) ?? firstErrorOfLarge(schema, variableDefinitions, variables)
  if (error) return { errors: [error] }
  const { errors, coerced = {} } = getVariableValues(schema, variableDefinitions, variables, { maxErrors })
  return errors ? { errors } : { coerced: recordOf(Object.entries(coerced)) }
}

/** Rejects lists that no field accepts, before anything is created from their entries. */
function longList(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  variables: Values,
): GraphQLError | undefined {
  for (const definition of definitions) {
    const name = definition.variable.name.value
    const path = pathOfLongList(typeFromAST(schema, definition.type as never), own(variables, name), name)
    if (path !== undefined) {
      const message = `Variable "$${name}" got an invalid value at "${path}"; a list may have at most ${maxListLength} entries.`
      return new GraphQLError(message, { nodes: definition })
    }
  }
  return undefined
}

function pathOfLongList(type: GraphQLType | undefined, value: unknown, path: string): string | undefined {
  if (!type || typeof value !== 'object' || value === null) return undefined
  const nullable = getNullableType(type)
  if (isListType(nullable)) {
    if (!Array.isArray(value)) return pathOfLongList(nullable.ofType, value, path)
    if (value.length > maxListLength) return path
    for (const [index, item] of value.entries()) {
      const found = pathOfLongList(nullable.ofType, item, `${path}.${index}`)
      if (found !== undefined) return found
    }
  } else if (isInputObjectType(nullable)) {
    for (const field of Object.values(nullable.getFields())) {
      const found = pathOfLongList(field.type, own(value, field.name), `${path}.${field.name}`)
      if (found !== undefined) return found
    }
  }
  return undefined
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
    const type = typeFromAST(schema, definition.type as never)
    if (!Object.hasOwn(variables, name) || !isInputType(type)) continue
    try {
      coerceInputValue(own(variables, name), type, (path, _value, error) => {
        const at = [name, ...path].join('.')
        throw new GraphQLError(`Variable "$${name}" got an invalid value at "${at}"; ${error.message}`, {
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
