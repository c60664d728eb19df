import { type ExecutionResult, GraphQLError } from 'graphql'
import { hideNames, namesIn } from './hide-names.ts'
import type { JsonType } from './negotiate.ts'
import type { GraphQLParams } from './params.ts'

/** A result whose errors reveal no names of the schema. Used where the schema may not be introspected. */
export function withoutNames(result: ExecutionResult, { query = '', variables = {} }: GraphQLParams): ExecutionResult {
  if (!result.errors) return result
  const inQuery = namesIn(query)
  // Variables can be long, and errors rarely name what only they contain.
  let inVariables: ReadonlySet<string> | undefined
  const isSent = (name: string) => {
    if (inQuery.has(name)) return true
    inVariables ??= namesIn(JSON.stringify(variables))
    return inVariables.has(name)
  }
  // The errors of resolvers are this gateway's own, and name fields that the client has sent.
  const isOwn = ({ originalError }: GraphQLError) => originalError != null
  const errors = result.errors.map((error) =>
    isOwn(error) ? error : withMessage(error, hideNames(error.message, isSent)),
  )
  return { ...result, errors }
}

/** A copy of an error of a document, with another message. Its extensions may be changed. */
export function withMessage(error: GraphQLError, message: string): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null, extensions } = error
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { ...extensions } })
}

/**
 * The HTTP status of a result. A result without data was not executed; the newer media type shows that in its status too.
 *
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes
 */
export function statusOf(result: ExecutionResult, type: JsonType): number {
  return 'data' in result || type === 'application/json' ? 200 : 400
}
