import { type GraphQLInputType, type GraphQLLeafType, isInputObjectType, isListType, isNonNullType } from 'graphql'
import { type FieldError, invalidInput } from '../errors.ts'
import type { CompiledOperation } from './operation.ts'
import type { Route } from './route.ts'

type Values = Readonly<Record<string, unknown>>

/**
 * Checks variables against their types in the schema, so that REST has no rules of types of its own, and drops the
 * fields that an input type does not have. GraphQL's own check would name types where the client knows fields.
 *
 * @returns the variables to execute with
 * @throws GatewayError BAD_USER_INPUT naming every field that is missing or of another type, as the REST client wrote it
 */
export function checkVariables(route: Route, { variableTypes }: CompiledOperation, variables: Values): Values {
  const errors: FieldError[] = []
  const checked: Record<string, unknown> = {}
  for (const [name, type] of variableTypes) {
    const value = check(type, variables[name], name, (error) => {
      errors.push({ ...error, field: fieldName(route, error.field) })
    })
    if (value !== undefined) checked[name] = value
  }
  if (errors.length > 0) throw invalidInput(errors)
  return checked
}

/** A refused input's name as the REST client wrote it: `input.name` ⇒ `name`, `first` ⇒ `limit`. */
export function fieldName({ parameters, body }: Route, field: string): string {
  const parameter = parameters.find(({ variable }) => variable === field)
  if (parameter) return parameter.name
  return body && field.startsWith(`${body.variable}.`) ? field.slice(body.variable.length + 1) : field
}

function check(type: GraphQLInputType, value: unknown, field: string, refuse: (error: FieldError) => void): unknown {
  if (isNonNullType(type)) {
    if (value != null) return check(type.ofType, value, field, refuse)
    return refuse({ field, code: 'REQUIRED', message: 'is required' })
  }
  if (value == null) return value
  if (isListType(type)) {
    if (Array.isArray(value)) return value.map((item, index) => check(type.ofType, item, `${field}[${index}]`, refuse))
    return refuse({ field, code: 'INVALID_TYPE', message: 'must be an array' })
  }
  if (isInputObjectType(type)) {
    if (typeof value !== 'object') return refuse({ field, code: 'INVALID_TYPE', message: 'must be an object' })
    const known = Object.values(type.getFields())
      .map(({ name, type: of }) => [name, check(of, (value as Values)[name], `${field}.${name}`, refuse)] as const)
      .filter(([, fieldValue]) => fieldValue !== undefined)
    return Object.fromEntries(known)
  }
  try {
    type.parseValue(value)
    return value
  } catch {
    return refuse({ field, code: 'INVALID_TYPE', message: `must be ${describe(type)}` })
  }
}

function describe({ name }: GraphQLLeafType): string {
  return { String: 'a string', ID: 'a string', Int: 'a whole number', Boolean: 'true or false' }[name] ?? `a ${name}`
}
