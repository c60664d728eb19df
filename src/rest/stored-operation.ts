import { type FieldError, GatewayError, invalidInput, ownValue, recordOf } from '@fusion-gateway/base'
import type { PreparedOperation, Preparer } from '@fusion-gateway/gateway-kit'
import type { Values } from '@fusion-gateway/pothos-trees'
import { metadataOf } from '@fusion-gateway/pothos-trees'
import {
  type ExecutionResult,
  GraphQLEnumType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  type GraphQLSchema,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  typeFromAST,
} from 'graphql'
import { recordKeyOf } from '../domain/resource.ts'
import type { Parameter, Route } from './route.ts'

/** A GraphQL operation of this gateway, the shape of its response, and the types of its variables. */
export interface StoredOperation {
  readonly operation: PreparedOperation
  readonly shape: Shape
  readonly variableTypes: ReadonlyMap<string, GraphQLInputType>
}

/**
 * Prepares an operation of this gateway.
 *
 * @param path the path of the response in the operation's data: `createUser.user`
 * @throws Error if it is not a valid operation of the schema. The gateway does not start then
 */
export function storeOperation(preparer: Preparer, text: string, path: string): StoredOperation {
  const { schema } = preparer
  const { operation, errors } = preparer.prepare(text)
  if (!operation) throw new Error(`${text}: ${errors.join('\n')}`)
  const variableTypes = new Map<string, GraphQLInputType>()
  for (const { variable, type } of operation.definition.variableDefinitions ?? []) {
    const inputType = typeFromAST(schema, type)
    if (isInputType(inputType)) variableTypes.set(variable.name.value, inputType)
  }
  return { operation, shape: shapeOf(schema, operation.definition, path), variableTypes }
}

/** The type of a variable, or of a field of one: `id`, `input.id`. */
export function typeAt({ variableTypes }: StoredOperation, path: string): GraphQLInputType {
  const [variable = '', field] = path.split('.')
  const type = variableTypes.get(variable)
  const found =
    field === undefined ? type : ownValue((getNullableType(type) as GraphQLInputObjectType).getFields(), field)?.type
  if (!found) throw new Error(`The operation has no variable ${path}`)
  return found
}

/** The shape of an operation's response: the keys in their order, and the type of each value. */
export type Shape = ObjectShape | ListShape | LeafShape

export interface ObjectShape {
  readonly kind: 'object'
  readonly name: string
  readonly fields: readonly FieldShape[]
}

export interface FieldShape {
  /** The key in the response: the alias. */
  readonly key: string
  readonly nullable: boolean
  readonly description: string | undefined
  readonly shape: Shape
}

interface ListShape {
  readonly kind: 'list'
  readonly of: Shape
}

interface LeafShape {
  readonly kind: 'leaf'
  readonly type: GraphQLScalarType | GraphQLEnumType
}

/**
 * The shape of the value at a path of an operation's data.
 *
 * @param operation written without fragments
 * @param path keys of the response, joined by dots: `createUser.user`
 */
function shapeOf(schema: GraphQLSchema, operation: OperationDefinitionNode, path: string): Shape {
  const root = schema.getRootType(operation.operation)
  if (!root) throw new Error(`The schema has no ${operation.operation}`)
  let shape = readShape(root, operation.selectionSet)
  for (const key of path.split('.')) {
    const fields = shape.kind === 'object' ? shape.fields : []
    const next = fields.find((field) => field.key === key)
    if (!next) throw new Error(`The operation's data has nothing at ${path}`)
    shape = next.shape
  }
  return shape
}

function readShape(type: GraphQLOutputType, selectionSet: SelectionSetNode | undefined): Shape {
  if (isNonNullType(type)) return readShape(type.ofType, selectionSet)
  if (isListType(type)) return { kind: 'list', of: readShape(type.ofType, selectionSet) }
  if (!isObjectType(type)) return { kind: 'leaf', type: type as LeafShape['type'] }
  const fields = (selectionSet?.selections ?? []).map((selection): FieldShape => {
    if (selection.kind !== Kind.FIELD) throw new Error('Stored operations have no fragments')
    const field = ownValue(type.getFields(), selection.name.value)
    if (!field) throw new Error(`${type.name} has no field ${selection.name.value}`)
    return {
      key: selection.alias?.value ?? selection.name.value,
      // REST serves only viewers who may read the field.
      nullable: !isNonNullType(field.type) && !metadataOf(field).isMasked,
      description: field.description ?? undefined,
      shape: readShape(field.type, selection.selectionSet),
    }
  })
  return { kind: 'object', name: type.name, fields }
}

/** The value at a path of an operation's data: `createUser.user`. */
export function valueAt(data: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => ownValue(value as object | null | undefined, key), data)
}

/** Whether a field is null in REST if it has no value. The interface document allows it for `phone` alone. */
export function keepsNull(key: string): boolean {
  return key === 'phone'
}

/** REST leaves out the error of a job that is tried again: clients of the earlier service take it for failed. */
function isLeftOut({ name }: ObjectShape, key: string, value: unknown): boolean {
  return name === 'Job' && key === 'error' && ownValue(value as object, 'status') !== 'FAILED'
}

/**
 * Encodes a value for REST: fields without a value are omitted, dates have colons, enum values are in lower case. JSON
 * objects are unchanged.
 *
 * `{ date_of_birth: '1990-05-17', gender: null, status: 'PENDING' }` ⇒ `{ date_of_birth: '1990:05:17', status:
 * 'pending' }`
 *
 * @param isOut which fields are left out although they have a value. Exports have all
 */
export function encode(shape: Shape, value: unknown, isOut = isLeftOut): unknown {
  if (value === null || value === undefined) return null
  if (shape.kind === 'list') return (value as unknown[]).map((item) => encode(shape.of, item, isOut))
  if (shape.kind === 'leaf') return encodeLeaf(shape.type, value)
  const shown = shape.fields.filter(({ key }) => !isOut(shape, key, value))
  const encoded = shown.map(({ key, shape: field }) => [key, encode(field, ownValue(value, key), isOut)] as const)
  return recordOf(encoded.filter(([key, field]) => field !== null || keepsNull(key)))
}

function encodeLeaf(type: LeafShape['type'], value: unknown): unknown {
  if (type.name === 'Date') return String(value).replaceAll('-', ':')
  if (type instanceof GraphQLEnumType) return String(value).toLowerCase()
  return value
}

/** The reverse of encoding, for a value that a client sends. It is not checked. */
function decodeLeaf(type: LeafShape['type'], value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (type.name === 'Date') return value.replaceAll(':', '-')
  if (type instanceof GraphQLEnumType) return value.toUpperCase()
  return value
}

export function enumValuesOf(type: GraphQLEnumType): string[] {
  return type.getValues().map(({ name }) => String(encodeLeaf(type, name)))
}

/** The most errors of a response, because a list can have thousands of wrong entries. */
const maxErrors = 50

/**
 * Checks variables against their types in the schema, and drops fields that an input type does not have. The errors of
 * graphql-js name GraphQL types, which REST clients do not know.
 *
 * @param variables the fields of input objects have their names in REST
 * @returns the variables to execute with
 * @throws GatewayError BAD_USER_INPUT with the fields that are missing or have the wrong type, by their names in REST
 */
export function checkVariables(route: Route, { variableTypes }: StoredOperation, variables: Values): Values {
  const errors: FieldError[] = []
  const checked: [string, unknown][] = []
  for (const [name, type] of variableTypes) {
    const value = check(type, ownValue(variables, name), name, (error) => {
      if (errors.length < maxErrors) errors.push({ ...error, field: restNameOf(route, error.field) })
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
  // The field can be an entry of a list: `filter.externalIds.0`.
  const parameter = parameterOf(route, field.replace(/[.[]\d+\]?$/, ''))
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
    if (Array.isArray(value)) return value.map((item, index) => check(type.ofType, item, `${field}[${index}]`, reject))
    return reject({ field, code: 'INVALID_TYPE', message: 'must be an array' })
  }
  if (isInputObjectType(type)) {
    if (typeof value !== 'object') return reject({ field, code: 'INVALID_TYPE', message: 'must be an object' })
    const known = Object.values(type.getFields())
      .map(
        ({ name, type: of }) =>
          [name, check(of, ownValue(value, recordKeyOf(name)), `${field}.${name}`, reject)] as const,
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
  return ownValue(descriptions, type.name) ?? `a ${type.name}`
}

type Data = Readonly<Record<string, unknown>>

/**
 * The data of a route's operation. REST has no partial responses: any error is the response.
 *
 * @throws GatewayError the operation's first error, with the names of fields in REST
 */
export function dataOf(route: Route, { data, errors }: ExecutionResult): Data {
  const [error] = errors ?? []
  if (error) {
    const thrown = error.originalError
    throw thrown instanceof GatewayError ? renamed(route, thrown) : new GatewayError('BAD_USER_INPUT', error.message)
  }
  rejectUserErrors(route, data ?? {})
  return data ?? {}
}

interface UserErrors {
  readonly userErrors?: readonly { code: never; message: string; field: readonly string[] | null }[]
}

/**
 * The `userErrors` of a mutation are 422 in REST. An id that comes from the path and that no row has is 404, and a row
 * that has changed is 412.
 */
function rejectUserErrors(route: Route, data: Data): void {
  const userErrors = Object.values(data).flatMap((payload) => (payload as UserErrors | null)?.userErrors ?? [])
  if (userErrors.length === 0) return
  const fields = userErrors.map(({ code, message, field }) => ({
    code,
    message,
    field: ['input', ...(field ?? [])].join('.'),
  }))
  // A write between the check of the precondition and this one.
  if (fields.some(({ code, field }) => code === 'CONFLICT' && field === 'input.expectedUpdatedAt')) {
    throw preconditionFailed()
  }
  if (fields.some(({ code, field }) => code === 'NOT_FOUND' && parameterOf(route, field)?.in === 'path')) {
    throw notFound()
  }
  throw renamed(route, invalidInput(fields))
}

function renamed(route: Route, error: GatewayError): GatewayError {
  if (error.fields.length === 0) return error
  return invalidInput(error.fields.map((field) => ({ ...field, field: restNameOf(route, field.field) })))
}

/** The error if `If-Match` does not name the resource as it is now. */
export function preconditionFailed(): GatewayError {
  return new GatewayError(
    'PRECONDITION_FAILED',
    'The header if-match does not have the ETag of the resource as it is now. Get it again, and apply the change to it.',
  )
}

/** The error for missing ids and ids of other tenants. */
export function notFound(): GatewayError {
  return new GatewayError('NOT_FOUND', 'There is nothing with this id.')
}
