import { type FieldError, GatewayError, invalidField, invalidInput } from '../errors.ts'
import type { RouteInput } from './route.ts'

/**
 * The body of a request that must be an object.
 *
 * @throws GatewayError MALFORMED_REQUEST when there is none, BAD_USER_INPUT when it is an array, a string, a number, a boolean or null
 */
export function bodyObject({ body }: RouteInput): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>
  if (body === undefined) throw new GatewayError('MALFORMED_REQUEST', 'The request has no body. Send a JSON object.')
  throw invalidField('body', 'INVALID_TYPE', 'must be a JSON object')
}

/**
 * A query parameter that holds a whole number; undefined when it is absent.
 *
 * @throws GatewayError BAD_USER_INPUT when it is something else, or given twice
 */
export function wholeNumber({ query }: RouteInput, name: string): number | undefined {
  const value = query[name]
  if (value === undefined) return undefined
  if (typeof value !== 'string' || !/^-?\d{1,9}$/.test(value)) {
    throw invalidField(name, 'INVALID_TYPE', 'must be a whole number')
  }
  return Number(value)
}

/**
 * A query parameter that holds a text; undefined when it is absent.
 *
 * @throws GatewayError BAD_USER_INPUT when it is given twice
 */
export function singleText({ query }: RouteInput, name: string): string | undefined {
  const value = query[name]
  if (value === undefined || typeof value === 'string') return value
  throw invalidField(name, 'INVALID_TYPE', 'must be given once')
}

/**
 * A list of ids: the JSON body, or a query parameter as a JSON array, repeated, or separated by commas.
 *
 * @throws GatewayError BAD_USER_INPUT when both or neither are given, or it is not an array of strings
 */
export function idList({ query, body }: RouteInput, name: string): string[] {
  const parameter = query[name]
  if (body !== undefined && parameter !== undefined) {
    throw invalidField(name, 'INVALID_FORMAT', 'must be given in the body or in the query, not in both')
  }
  if (body !== undefined) return stringArray(body, 'body')
  if (parameter === undefined) {
    throw invalidField(name, 'REQUIRED', 'is required: a JSON array of ids as the body, or in the query')
  }
  if (typeof parameter === 'string' && parameter.trimStart().startsWith('[')) {
    return stringArray(parseJson(parameter, name), name)
  }
  return [parameter]
    .flat()
    .flatMap((ids) => ids.split(','))
    .filter((id) => id !== '')
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidField(name, 'INVALID_FORMAT', 'begins like a JSON array but is not one')
  }
}

function stringArray(value: unknown, name: string): string[] {
  if (!Array.isArray(value)) throw invalidField(name, 'INVALID_TYPE', 'must be a JSON array of strings')
  const errors = value.flatMap((item, index): FieldError[] =>
    typeof item === 'string' ? [] : [{ field: `${name}[${index}]`, code: 'INVALID_TYPE', message: 'must be a string' }],
  )
  if (errors.length > 0) throw invalidInput(errors.slice(0, 10))
  return value as string[]
}
