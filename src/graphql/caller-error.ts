import { GraphQLError, type GraphQLErrorExtensions, type Source, type SourceLocation } from 'graphql'
import type { Logger } from '../context.ts'
import { toShownError } from '../shown-error.ts'

/**
 * What a caller sees of an error in a GraphQL answer: `extensions.code` from the registry, and a message that holds
 * nothing of our insides. What was a surprise to us is logged, whole.
 *
 * @param source the document that was executed
 */
export function toCallerError(error: unknown, log: Logger, source?: Source): GraphQLError {
  if (!(error instanceof GraphQLError)) return fromThrown(error, undefined, log)
  return fromGraphQL(error.source ? error : withSource(error, source), log)
}

/** A compiled operation knows the lines and columns of its errors, but the document no more. */
function withSource(error: GraphQLError, source: Source | undefined): GraphQLError {
  const { locations, path, originalError, extensions, message } = error
  if (!source || !locations) return error
  const positions = locations.map((location) => positionOf(source, location))
  return new GraphQLError(message, { source, positions, path, originalError, extensions })
}

/** Where the lines of a document begin: an answer may have many errors. */
const lineStarts = new WeakMap<Source, readonly number[]>()

/** Where in a document a line and a column are, as graphql-js counts: from 0. */
export function positionOf(source: Source, { line, column }: SourceLocation): number {
  const starts = lineStarts.get(source) ?? [0, ...Array.from(source.body.matchAll(/\r\n|[\n\r]/g), endOf)]
  lineStarts.set(source, starts)
  return (starts[line - 1] ?? 0) + column - 1
}

function endOf(match: RegExpExecArray): number {
  return match.index + match[0].length
}

function fromGraphQL(error: GraphQLError, log: Logger): GraphQLError {
  const thrown = rootCause(error)
  if (thrown !== undefined) return fromThrown(thrown, error, log)
  if (!isOfTheCallersMaking(error)) return fromThrown(new Error(error.message), error, log)
  return located(error, shortened(error.message), { ...error.extensions, code: 'BAD_USER_INPUT' })
}

const maxMessageLength = 1_000

/** GraphQL repeats a value that it refuses, whole, in each error of it. What is wrong is said before and after. */
function shortened(message: string): string {
  if (message === 'Validation aborted.') return 'The document repeats its fields too often to be checked.'
  return message.length > maxMessageLength ? `${message.slice(0, 500)}…${message.slice(-400)}` : message
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
  return located(at, error.message, { code: error.code, ...error.details, ...fields }, error)
}

function located(
  at: GraphQLError | undefined,
  message: string,
  extensions: GraphQLErrorExtensions,
  originalError: Error | null = null,
): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null } = at ?? {}
  return new GraphQLError(message, { nodes, source, positions, path, originalError, extensions })
}

/** What was thrown in a resolver, below the errors that GraphQL wraps around it; undefined when it is GraphQL's own. */
function rootCause(error: GraphQLError): unknown {
  let cause: unknown = error.originalError
  while (cause instanceof GraphQLError) cause = cause.originalError
  return cause
}
