import { type DocumentNode, type GraphQLError, getOperationAST, getVariableValues } from 'graphql'
import { schema } from './schema.ts'

type Values = Readonly<Record<string, unknown>>

/** Each error repeats the whole value; graphql-js itself would make fifty of them. */
const maxErrors = 5

/** Reads an operation's variables by their types, defaults included. */
export function coerceVariables(
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Values,
): { readonly errors?: readonly GraphQLError[]; readonly coerced?: Values } {
  const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? []
  return getVariableValues(schema, definitions, variables, { maxErrors })
}
