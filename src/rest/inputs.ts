import { isDeepStrictEqual } from 'node:util'
import { type FieldError, GatewayError, invalidField, invalidInput, isObject, ownValue } from '@fusion-gateway/base'
import { maxPageSize } from '@fusion-gateway/prisma-trees'
import type { RouteInput } from './route.ts'

/** @throws GatewayError MALFORMED_REQUEST if there is no body, BAD_USER_INPUT if it is not an object */
export function readObject({ body }: RouteInput): Record<string, unknown> {
  if (isObject(body)) return body
  if (body === undefined) throw new GatewayError('MALFORMED_REQUEST', 'The request has no body. Send a JSON object.')
  throw invalidField('body', 'INVALID_TYPE', 'must be a JSON object')
}

/** Undefined if it is absent. @throws GatewayError BAD_USER_INPUT if it is not from 1 to 500, or is given twice */
export function readPageSize({ query }: RouteInput, name: string): number | undefined {
  const value = ownValue(query, name)
  if (value === undefined) return undefined
  if (typeof value !== 'string' || !/^-?\d{1,9}$/.test(value)) {
    throw invalidField(name, 'INVALID_TYPE', 'must be a whole number')
  }
  const size = Number(value)
  if (size < 1 || size > maxPageSize) throw invalidField(name, 'OUT_OF_RANGE', `must be from 1 to ${maxPageSize}`)
  return size
}

/** Undefined if it is absent. @throws GatewayError BAD_USER_INPUT if it is given twice */
export function readText({ query }: RouteInput, name: string): string | undefined {
  const value = ownValue(query, name)
  if (value === undefined || typeof value === 'string') return value
  throw invalidField(name, 'INVALID_TYPE', 'must be given once')
}

/**
 * Reads a list of ids from the JSON body, or from the query string: as a JSON array, a repeated parameter, or separated
 * by commas.
 *
 * @throws GatewayError BAD_USER_INPUT if neither is given, both are and differ, or the list is not an array of strings
 */
export function readIdList({ query, body }: RouteInput, name: string): string[] {
  const parameter = ownValue(query, name)
  const inBody = body === undefined ? undefined : toStrings(body, 'body')
  const inQuery = parameter === undefined ? undefined : parseIdList(parameter, name)
  // A client that is generated from the OpenAPI document may send both.
  if (inBody && inQuery && !isDeepStrictEqual(inBody, inQuery)) {
    throw invalidField(name, 'INVALID_FORMAT', 'must be the same in the body and in the query, or in one of them')
  }
  const ids = inBody ?? inQuery
  if (!ids) throw invalidField(name, 'REQUIRED', 'is required: a JSON array of ids as the body, or in the query')
  return ids
}

function parseIdList(parameter: string | readonly string[], name: string): string[] {
  if (typeof parameter === 'string' && parameter.trimStart().startsWith('[')) {
    return toStrings(parseJson(parameter, name), name)
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
    throw invalidField(name, 'INVALID_FORMAT', 'starts like a JSON array but is not one')
  }
}

const maxErrors = 10

function toStrings(value: unknown, name: string): string[] {
  if (!Array.isArray(value)) throw invalidField(name, 'INVALID_TYPE', 'must be a JSON array of strings')
  const errors = value.flatMap((item, index): FieldError[] =>
    typeof item === 'string' ? [] : [{ field: `${name}[${index}]`, code: 'INVALID_TYPE', message: 'must be a string' }],
  )
  if (errors.length > 0) throw invalidInput(errors.slice(0, maxErrors))
  return value as string[]
}
