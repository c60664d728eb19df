import { GraphQLError, type GraphQLErrorExtensions, type Source, type SourceLocation } from 'graphql'
import type { GatewayError } from '../../errors.ts'
import { toGatewayError } from '../../telemetry/gateway-error.ts'
import type { Logger } from '../../telemetry/logger.ts'

/**
 * The error of a GraphQL response as the client sees it: with a code of the registry, and without anything internal.
 * Unexpected errors are logged whole.
 *
 * @param source the document that was executed
 */
export function toClientError(error: unknown, log: Logger, source?: Source): GraphQLError {
  if (!(error instanceof GraphQLError)) return fromThrown(error, undefined, log)
  return fromGraphQL(error.source ? error : withSource(error, source), log)
}

/** The errors of a compiled operation have locations but no document. */
function withSource(error: GraphQLError, source: Source | undefined): GraphQLError {
  const { locations, path, originalError, extensions, message } = error
  if (!source || !locations) return error
  const positions = locations.map((location) => positionOf(source, location))
  return new GraphQLError(message, { source, positions, path, originalError, extensions })
}

/** The result of an operation that was not executed. */
export function resultOfError({ code, message, details }: GatewayError) {
  return { errors: [{ message, extensions: { code, ...details } }] }
}

/** The position of a line and column in a document, from 0. */
export function positionOf({ body }: Source, { line, column }: SourceLocation): number {
  const ends = /\r\n|[\n\r]/g
  for (let left = line - 1; left > 0; left -= 1) ends.exec(body)
  return ends.lastIndex + column - 1
}

function fromGraphQL(error: GraphQLError, log: Logger): GraphQLError {
  const thrown = rootCause(error)
  if (thrown !== undefined) return fromThrown(thrown, error, log)
  if (!isCausedByClient(error)) return fromThrown(new Error(error.message), error, log)
  return located(error, shortened(error.message), { ...error.extensions, code: 'BAD_USER_INPUT' })
}

const maxMessageLength = 1_000

/**
 * graphql-js repeats a rejected value, whole, in each of its errors. The start and the end of the message say what is
 * wrong.
 */
function shortened(message: string): string {
  if (message === 'Validation aborted.') return 'The document repeats its fields too often to be validated.'
  return message.length > maxMessageLength ? `${message.slice(0, 500)}…${message.slice(-400)}` : message
}

/**
 * Whether graphql-js reports what the client sent: syntax, validation, variables. An error with a path is about a value
 * that a resolver returned, which is a defect; but an argument whose variable is null has a path too.
 */
function isCausedByClient({ path, message }: GraphQLError): boolean {
  return path === undefined || message.startsWith('Argument "')
}

function fromThrown(thrown: unknown, at: GraphQLError | undefined, log: Logger): GraphQLError {
  const error = toGatewayError(thrown, log)
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

/** What a resolver threw, below the errors that GraphQL wraps around it; undefined if the error is GraphQL's own. */
function rootCause(error: GraphQLError): unknown {
  let cause: unknown = error.originalError
  while (cause instanceof GraphQLError) cause = cause.originalError
  return cause
}
