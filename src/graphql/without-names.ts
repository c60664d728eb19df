import { type ExecutionResult, GraphQLError } from 'graphql'
import { hideNames, namesIn } from './hide-names.ts'
import type { GraphQLParams } from './params.ts'

/** A result whose errors name nothing of the schema that the caller has not named: for where it may not be explored. */
export function withoutNames(result: ExecutionResult, { query = '', variables = {} }: GraphQLParams): ExecutionResult {
  if (!result.errors) return result
  const said = namesIn(query + JSON.stringify(variables))
  // What a resolver has refused is in our own words, and names the caller's fields.
  const isOurs = ({ originalError }: GraphQLError) => originalError != null
  const errors = result.errors.map((error) => (isOurs(error) ? error : told(error, hideNames(error.message, said))))
  return { ...result, errors }
}

function told(error: GraphQLError, message: string): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null, extensions } = error
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}
