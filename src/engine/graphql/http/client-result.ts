import { type ExecutionResult, GraphQLError } from 'graphql'
import { hideNames, namesIn } from './hide-names.ts'
import type { MediaType } from './negotiate.ts'
import type { GraphQLParams } from './params.ts'

/** The result of an operation, or the results of a subscription. */
export type Results = ExecutionResult | AsyncIterable<ExecutionResult>

/** Results whose errors reveal no names of the schema. Used where the schema may not be introspected. */
export function showResults(results: Results, params: GraphQLParams): Results {
  return Symbol.asyncIterator in results ? showEach(results, params) : withoutNames(results, params)
}

async function* showEach(results: AsyncIterable<ExecutionResult>, params: GraphQLParams) {
  for await (const result of results) yield withoutNames(result, params)
}

function withoutNames(result: ExecutionResult, { query = '', variables = {} }: GraphQLParams): ExecutionResult {
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

function withMessage(error: GraphQLError, message: string): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null, extensions } = error
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}

/** The media types with which the status tells that an operation was not executed. */
const strictTypes: readonly MediaType[] = ['application/graphql-response+json', 'multipart/mixed']

/**
 * The HTTP status of a result.
 *
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes
 */
export function statusOf(results: Results, type: MediaType): number {
  return 'data' in results || !strictTypes.includes(type) ? 200 : 400
}
