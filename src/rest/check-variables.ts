import { type GraphQLInputType, type GraphQLLeafType, isInputObjectType, isListType, isNonNullType } from 'graphql'
import { type FieldError, invalidInput } from '../engine/errors.ts'
import { maxListLength, type Values } from '../engine/graphql/operation/prepare/coerce-variables.ts'
import { own, recordOf } from '../engine/own.ts'
import type { Route } from './route.ts'
import type { StoredOperation } from './stored-operation.ts'

/**
 * Checks variables against their types in the schema, and drops fields that an input type does not have. The errors of
 * graphql-js name GraphQL types, which REST clients do not know.
 *
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

/** The name of a variable's field in REST: `input.name` ⇒ `name`, `first` ⇒ `limit`. */
export function restNameOf({ parameters, body }: Route, field: string): string {
  const parameter = parameters.find(({ variable }) => variable === field)
  if (parameter) return parameter.name
  return body && field.startsWith(`${body.variable}.`) ? field.slice(body.variable.length + 1) : field
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
      .map(({ name, type: of }) => [name, check(of, own(value, name), `${field}.${name}`, reject)] as const)
      .filter(([, fieldValue]) => fieldValue !== undefined)
    return recordOf(known)
  }
  try {
    type.parseValue(value)
    return value
  } catch {
    return reject({ field, code: 'INVALID_TYPE', message: `must be ${describe(type)}` })
  }
}

const descriptions = { String: 'a string', ID: 'a string', Int: 'a whole number', Boolean: 'true or false' }

function describe({ name }: GraphQLLeafType): string {
  return own(descriptions, name) ?? `a ${name}`
}
