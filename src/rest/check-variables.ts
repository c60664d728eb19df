import {
  type ExecutionResult,
  type GraphQLInputType,
  type GraphQLLeafType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql'
import { recordKeyOf } from '../domain/resource.ts'
import { type FieldError, GatewayError, invalidInput } from '../engine/errors.ts'
import { maxListLength, type Values } from '../engine/graphql/operation/prepare/coerce-variables.ts'
import { own, recordOf } from '../engine/own.ts'
import type { Parameter, Route } from './route.ts'
import { decodeLeaf, enumValuesOf } from './shape.ts'
import type { StoredOperation } from './stored-operation.ts'

/**
 * Checks variables against their types in the schema, and drops fields that an input type does not have. The errors of
 * graphql-js name GraphQL types, which REST clients do not know.
 *
 * @param variables the fields of input objects have their names in REST
 * @returns the variables to execute with
 * @throws GatewayError BAD_USER_INPUT with every field that is missing or has the wrong type, under its name in REST
 */
export function checkVariables(route: Route, { variableTypes }: StoredOperation, variables: Values): Values {
  const errors: FieldError[] = []
  const checked: [string, unknown][] = []
  for (const [name, type] of variableTypes) {
    const value = check(type, own(variables, name), name, (error) => {
      errors.push({ ...error, field: restNameOf(route, error.field) })
    })
    if (value !== undefined) checked.push([name, value])
  }
  if (errors.length > 0) throw invalidInput(errors)
  return recordOf(checked)
}

/** The parameter that becomes a variable, or a field of one: `input.userId`. */
function parameterOf({ parameters }: Route, field: string): Parameter | undefined {
  return parameters.find(({ variable }) => variable === field)
}

/**
 * The name in REST of a field of a variable: `input.emails[0].isPrimary` ⇒ `emails[0].is_primary`, `first` ⇒ `limit`.
 */
function restNameOf(route: Route, field: string): string {
  const parameter = parameterOf(route, field)
  if (parameter) return parameter.name
  const { body } = route
  const inBody = body && field.startsWith(`${body.variable}.`) ? field.slice(body.variable.length + 1) : field
  return inBody.replace(/[a-z]\w*/gi, recordKeyOf)
}

function check(type: GraphQLInputType, value: unknown, field: string, reject: (error: FieldError) => void): unknown {
  if (isNonNullType(type)) {
    if (value != null) return check(type.ofType, value, field, reject)
    return reject({ field, code: 'REQUIRED', message: 'is required' })
  }
  if (value == null) return value
  if (isListType(type)) {
    if (Array.isArray(value) && value.length > maxListLength) {
      return reject({ field, code: 'TOO_LONG', message: `must have at most ${maxListLength} entries` })
    }
    if (Array.isArray(value)) return value.map((item, index) => check(type.ofType, item, `${field}[${index}]`, reject))
    return reject({ field, code: 'INVALID_TYPE', message: 'must be an array' })
  }
  if (isInputObjectType(type)) {
    if (typeof value !== 'object') return reject({ field, code: 'INVALID_TYPE', message: 'must be an object' })
    const known = Object.values(type.getFields())
      .map(
        ({ name, type: of }) => [name, check(of, own(value, recordKeyOf(name)), `${field}.${name}`, reject)] as const,
      )
      .filter(([, fieldValue]) => fieldValue !== undefined)
    return recordOf(known)
  }
  try {
    const decoded = decodeLeaf(type, value)
    type.parseValue(decoded)
    return decoded
  } catch {
    return reject({ field, code: 'INVALID_TYPE', message: `must be ${describe(type)}` })
  }
}

const descriptions = {
  String: 'a string',
  ID: 'a string',
  Int: 'a whole number',
  SafeInt: 'a whole number',
  Float: 'a number',
  Boolean: 'true or false',
  DateTime: 'a time, such as 2026-01-31T08:00:00Z',
  Date: 'a date, such as 1990:05:17',
  JSONObject: 'a JSON object',
}

function describe(type: GraphQLLeafType): string {
  if (isEnumType(type)) return `one of ${enumValuesOf(type).join(', ')}`
  return own(descriptions, type.name) ?? `a ${type.name}`
}

type Data = Readonly<Record<string, unknown>>

/**
 * The data of a route's operation. REST has no partial responses: any error is the response.
 *
 * @throws GatewayError the operation's first error, with the names of fields in REST
 */
export function dataOf(route: Route, { data, errors }: ExecutionResult): Data {
  const [error] = errors ?? []
  if (error) throw error.originalError instanceof GatewayError ? renamed(route, error.originalError) : invalid(error)
  rejectUserErrors(route, data ?? {})
  return data ?? {}
}

interface UserErrors {
  readonly userErrors?: readonly { code: never; message: string; field: readonly string[] | null }[]
}

/** The `userErrors` of a mutation are 422 in REST. An id that comes from the path and that no row has is 404. */
function rejectUserErrors(route: Route, data: Data): void {
  const userErrors = Object.values(data).flatMap((payload) => (payload as UserErrors | null)?.userErrors ?? [])
  if (userErrors.length === 0) return
  const fields = userErrors.map(({ code, message, field }) => ({
    code,
    message,
    field: ['input', ...(field ?? [])].join('.'),
  }))
  if (fields.some(({ code, field }) => code === 'NOT_FOUND' && parameterOf(route, field)?.in === 'path')) {
    throw notFound()
  }
  throw renamed(route, invalidInput(fields))
}

function renamed(route: Route, error: GatewayError): GatewayError {
  if (error.fields.length === 0) return error
  return invalidInput(error.fields.map((field) => ({ ...field, field: restNameOf(route, field.field) })))
}

function invalid({ message }: { message: string }): GatewayError {
  return new GatewayError('BAD_USER_INPUT', message)
}

/** The error for missing ids and ids of other tenants. */
export function notFound(): GatewayError {
  return new GatewayError('NOT_FOUND', 'There is nothing with this id.')
}
