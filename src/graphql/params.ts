import { GatewayError } from '../errors.ts'
import { isShallowRequest } from '../input/json-depth.ts'

/** What a GraphQL request asks, as GraphQL over HTTP names it. */
export interface GraphQLParams {
  query?: string
  /** Names a document instead of sending it. */
  documentId?: string
  operationName?: string
  variables?: Record<string, unknown>
  extensions?: Record<string, unknown>
}

/**
 * Reads the parameters from a JSON body.
 *
 * @throws GatewayError MALFORMED_REQUEST naming the parameter that has another type than the specification gives it
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Request-Parameters
 */
export function readBodyParams(body: unknown): GraphQLParams {
  if (Array.isArray(body)) throw malformed('Send one operation, not an array: batching is off.')
  if (!isObject(body)) throw malformed('Send a JSON object with the key query.')
  return {
    ...text(body, 'query'),
    ...text(body, 'documentId'),
    ...text(body, 'operationName'),
    ...object(body, 'variables'),
    ...object(body, 'extensions'),
  }
}

/**
 * Reads the parameters from a query string.
 *
 * @param search parsed; a parameter given twice is an array, and refused
 * @throws GatewayError MALFORMED_REQUEST, likewise
 */
export function readQueryParams(search: Record<string, unknown>): GraphQLParams {
  return readBodyParams({
    ...search,
    ...('variables' in search && { variables: parseJson(search['variables'], 'variables') }),
    ...('extensions' in search && { extensions: parseJson(search['extensions'], 'extensions') }),
  })
}

function text(source: Record<string, unknown>, name: 'query' | 'documentId' | 'operationName'): Partial<GraphQLParams> {
  const value = source[name]
  if (value == null || (name !== 'query' && value === '')) return {}
  if (typeof value !== 'string') throw malformed(`${name} must be a string.`)
  return { [name]: value }
}

function object(source: Record<string, unknown>, name: 'variables' | 'extensions'): Partial<GraphQLParams> {
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
  if (!isShallowRequest(parsed)) throw malformed(`${name} is nested too deep.`)
  return parsed
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function malformed(message: string): GatewayError {
  return new GatewayError('MALFORMED_REQUEST', message)
}
