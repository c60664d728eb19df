import { GatewayError } from '../../errors.ts'
import { toIdempotencyKey } from '../../http/request.ts'
import { excessOf, problemOfNumbers } from '../../input/json.ts'

export interface GraphQLParams {
  query?: string
  /** The id of a document that the gateway knows. */
  documentId?: string
  operationName?: string
  variables?: Record<string, unknown>
  extensions?: Record<string, unknown>
}

/**
 * Reads the parameters from a JSON body.
 *
 * @throws GatewayError MALFORMED_REQUEST naming the parameter that has the wrong type
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Request-Parameters
 */
export function readBodyParams(body: unknown): GraphQLParams {
  if (Array.isArray(body)) throw malformed('Batching is not supported. Send each operation in a request of its own.')
  if (!isObject(body)) throw malformed('Send a JSON object with the key query.')
  return {
    ...readText(body, 'query'),
    ...readText(body, 'documentId'),
    ...readText(body, 'operationName'),
    ...readObject(body, 'variables'),
    ...readObject(body, 'extensions'),
  }
}

/**
 * Reads the parameters from a query string.
 *
 * @param search the parsed query string. A parameter that is given twice is an array, and rejected
 * @throws GatewayError MALFORMED_REQUEST naming the parameter that has the wrong type
 */
export function readQueryParams(search: Record<string, unknown>): GraphQLParams {
  return readBodyParams({
    ...search,
    ...('variables' in search && { variables: parseJson(search['variables'], 'variables') }),
    ...('extensions' in search && { extensions: parseJson(search['extensions'], 'extensions') }),
  })
}

/**
 * Reads the idempotency key of an operation: `extensions.idempotencyKey`. It is the same as that of the header of a
 * POST, so that a client may send a mutation again by either.
 *
 * @throws GatewayError MALFORMED_REQUEST if it is not a key
 */
export function idempotencyKeyIn({ query, operationName, variables, extensions }: GraphQLParams) {
  const content = [query, operationName, variables]
  return toIdempotencyKey('extensions.idempotencyKey', extensions?.['idempotencyKey'], 'POST /graphql', content)
}

function readText(
  source: Record<string, unknown>,
  name: 'query' | 'documentId' | 'operationName',
): Partial<GraphQLParams> {
  const value = source[name]
  if (value == null || (name !== 'query' && value === '')) return {}
  if (typeof value !== 'string') throw malformed(`${name} must be a string.`)
  return { [name]: value }
}

function readObject(source: Record<string, unknown>, name: 'variables' | 'extensions'): Partial<GraphQLParams> {
  const value = source[name]
  if (value == null) return {}
  if (!isObject(value)) throw malformed(`${name} must be an object.`)
  return { [name]: value }
}

function parseJson(value: unknown, name: string): unknown {
  if (value === '') return undefined
  let parsed: unknown
  try {
    parsed = JSON.parse(String(value))
  } catch {
    throw malformed(`${name} must be JSON.`)
  }
  const excess = excessOf(parsed)
  if (excess !== undefined) throw malformed(`${name} ${excess}.`)
  const problem = problemOfNumbers(String(value))
  if (problem !== undefined) throw new GatewayError('BAD_USER_INPUT', `${name} ${problem}.`)
  return parsed
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function malformed(message: string): GatewayError {
  return new GatewayError('MALFORMED_REQUEST', message)
}
