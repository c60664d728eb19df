import { GraphQLError, type GraphQLErrorExtensions } from 'graphql'
import type { Logger } from '../context.ts'
import { toShownError } from '../shown-error.ts'

/**
 * What a caller sees of an error in a GraphQL answer: `extensions.code` from the registry, and a message that holds
 * nothing of our insides. What was a surprise to us is logged, whole.
 */
export function toCallerError(error: unknown, log: Logger): GraphQLError {
  if (!(error instanceof GraphQLError)) return fromThrown(error, undefined, log)
  const thrown = rootCause(error)
  if (thrown !== undefined) return fromThrown(thrown, error, log)
  if (!isOfTheCallersMaking(error)) return fromThrown(new Error(error.message), error, log)
  return located(error, error.message, { ...error.extensions, code: 'BAD_USER_INPUT' })
}

/**
 * Whether GraphQL made the error of what the caller sent: syntax, validation, variables. What it makes of a value that
 * a resolver gave (a missing one for a field that may not be null, a scalar out of its range) has a path, and is a
 * defect of ours; but so has an argument whose variable turned out to be null.
 */
function isOfTheCallersMaking({ path, message }: GraphQLError): boolean {
  return path === undefined || message.startsWith('Argument "')
}

function fromThrown(thrown: unknown, at: GraphQLError | undefined, log: Logger): GraphQLError {
  const error = toShownError(thrown, log)
  const fields = error.fields.length > 0 && { fields: error.fields }
  return located(at, error.message, { code: error.code, ...fields }, error)
}

function located(
  at: GraphQLError | undefined,
  message: string,
  extensions: GraphQLErrorExtensions,
  originalError: Error | null = null,
): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null, locations } = at ?? {}
  const error = new GraphQLError(message, { nodes, source, positions, path, originalError, extensions })
  // A compiled operation knows where in the document it is, but not the document any more.
  if (locations && !error.locations) Object.defineProperty(error, 'locations', { value: locations, enumerable: true })
  return error
}

/** What was thrown in a resolver, below the errors that GraphQL wraps around it; undefined when it is GraphQL's own. */
function rootCause(error: GraphQLError): unknown {
  let cause: unknown = error.originalError
  while (cause instanceof GraphQLError) cause = cause.originalError
  return cause
}
