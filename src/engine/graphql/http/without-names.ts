import { type ExecutionResult, GraphQLError } from 'graphql'
import { maxNameLength } from '../../telemetry/usage/client.ts'
import { DocumentError } from '../operation/prepare/document-error.ts'
import type { Results } from './negotiate.ts'

/** Results whose errors reveal no names of the schema. Used where the schema may not be introspected. */
export function resultsWithoutNames(results: Results): Results {
  if (Symbol.asyncIterator in results) return eachWithoutNames(results)
  return results.errors ? { ...results, errors: results.errors.map(withoutNames) } : results
}

async function* eachWithoutNames(results: AsyncIterable<ExecutionResult>) {
  for await (const result of results) yield resultsWithoutNames(result) as ExecutionResult
}

/**
 * An error of a document or of a run, whose message reveals no names of the schema. graphql-js can leave out
 * suggestions of similar names (`hideSuggestions`), but names the types of fields and arguments, and repeats values.
 * Its messages are replaced as a whole, and locations say where the client has to look.
 *
 * `Cannot query field "nam" on type "User".` ⇒ `The schema does not allow "nam" here. …`
 */
export function withoutNames(error: GraphQLError): GraphQLError {
  const { originalError, nodes = null, source = null, positions = null, path = null, extensions } = error
  // The errors of resolvers are this gateway's own, and name fields that the client has sent.
  if (originalError != null || error instanceof DocumentError) return error
  const name = sentAt(error)
  const subject = name === undefined ? 'this' : name.startsWith('$') ? `"${name}" or its value` : `"${name}"`
  const message = `The schema does not allow ${subject} here. Errors do not say more, because introspection is off.`
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}

/** The name in the client's document that an error is about. An error that was stored has a position, but no nodes. */
function sentAt({ source, positions }: GraphQLError): string | undefined {
  const [at] = positions ?? []
  return at === undefined ? undefined : /^[$@]?\w+/.exec(source?.body.slice(at, at + maxNameLength) ?? '')?.[0]
}
