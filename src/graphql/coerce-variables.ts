import {
  coerceInputValue,
  type DocumentNode,
  GraphQLError,
  getOperationAST,
  getVariableValues,
  isInputType,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'
import { schema } from './schema.ts'

type Values = Readonly<Record<string, unknown>>

/** Each error repeats the whole value; graphql-js itself would make fifty of them. */
const maxErrors = 5

/** How many values variables may hold to be repeated in their errors at all. */
const maxRepeated = 1_000

/** Reads an operation's variables by their types, defaults included. */
export function coerceVariables(
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Values,
): { readonly errors?: readonly GraphQLError[]; readonly coerced?: Values } {
  const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? []
  const error = isLarge(variables) && firstError(definitions, variables)
  return error ? { errors: [error] } : getVariableValues(schema, definitions, variables, { maxErrors })
}

/** What is wrong with large variables first, without the value: writing that down takes longer than everything else. */
function firstError(definitions: readonly VariableDefinitionNode[], variables: Values): GraphQLError | undefined {
  for (const definition of definitions) {
    const name = definition.variable.name.value
    const type = typeFromAST(schema, definition.type as never)
    if (!Object.hasOwn(variables, name) || !isInputType(type)) continue
    try {
      coerceInputValue(variables[name], type, (path, _value, error) => {
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

/** Counts level by level, without calling itself. */
function isLarge(variables: Values): boolean {
  let left = maxRepeated
  for (let level: unknown[] = [variables]; level.length > 0 && left >= 0; left -= level.length) {
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  return left < 0
}
