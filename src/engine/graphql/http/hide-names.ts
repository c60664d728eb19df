import { type ExecutionResult, GraphQLError } from 'graphql'
import type { Results } from './negotiate.ts'
import type { GraphQLParams } from './params.ts'

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

const builtIn = ['ID', 'Int', 'Float', 'String', 'Boolean', '__typename']

/**
 * A message of graphql-js without names that the client has not sent. graphql-js can leave out suggestions of similar
 * names (`hideSuggestions`), but it names the types of fields and arguments, and repeats the client's values, in which
 * anything can look like a name.
 *
 * `Cannot query field "nam" on type "User".` ⇒ `Cannot query field "nam" on type "…".`
 *
 * @param isSent whether the client has sent a name
 */
function hideNames(message: string, isSent: (name: string) => boolean): string {
  const variable = /^Variable "(\$\w+)" got invalid value /.exec(message)?.[1]
  if (variable !== undefined) return `Variable "${variable}" got an invalid value; ${reasonOf(message, isSent)}`
  return (
    message
      // The client's own value follows.
      .replace(/, found .*/su, '.')
      .replace(/ cannot represent .*/su, ' cannot represent the value.')
      .replace(/"([^"]*)"/gu, (quoted, inner: string) => (areSent(inner, isSent) ? quoted : '"…"'))
      .replace(/"[^"]*…$/u, '"…')
      .replace(/\w+(?= cannot represent)/gu, (name) => (isSent(name) ? name : 'A scalar'))
  )
}

/** Why a variable was rejected. The end of the message is graphql-js's; the client's value precedes it. */
function reasonOf(message: string, isSent: (name: string) => boolean): string {
  const unknown = /; Field "(\w+)" is not defined by type "\w+"\.(?: Did you mean [^;]*)?$/.exec(message)?.[1]
  if (unknown !== undefined && isSent(unknown)) return `the field "${unknown}" is unknown.`
  if (/ was not provided\.$/.test(message)) return 'a required field is missing.'
  return 'it has the wrong type.'
}

/** The names in a text. */
export function namesIn(text: string): ReadonlySet<string> {
  return new Set([...builtIn, ...(text.match(names) ?? [])])
}

const names = /[_A-Za-z]\w*/gu

function areSent(text: string, isSent: (name: string) => boolean): boolean {
  return (text.match(names) ?? []).every(isSent)
}
