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

/** Variables by their names. */
export type Values = Readonly<Record<string, unknown>>

/** Each error repeats the whole value. Without a limit graphql-js reports fifty of them. */
const maxErrors = 5

/** Variables with more values than this are not repeated in errors. */
const maxRepeated = 1_000

/** Coerces the variables of an operation to their types and applies defaults. */
export function coerceVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Values,
): { readonly errors?: readonly GraphQLError[]; readonly coerced?: Values } {
  const error = isLarge(variables) && firstError(schema, variableDefinitions, variables)
  return error ? { errors: [error] } : getVariableValues(schema, variableDefinitions, variables, { maxErrors })
}

/** The first error of large variables, without the value: printing it would take longer than all else. */
function firstError(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  variables: Values,
): GraphQLError | undefined {
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

/** Counts level by level, without recursion. */
function isLarge(variables: Values): boolean {
  let left = maxRepeated
  for (let level: unknown[] = [variables]; level.length > 0 && left >= 0; left -= level.length) {
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  return left < 0
}
