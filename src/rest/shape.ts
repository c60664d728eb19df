import {
  GraphQLEnumType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  type GraphQLSchema,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import { metadataOf } from '../engine/graphql/schema/field-metadata.ts'
import { own, recordOf } from '../engine/own.ts'

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
export function shapeOf(schema: GraphQLSchema, operation: OperationDefinitionNode, path: string): Shape {
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
    const field = own(type.getFields(), selection.name.value)
    if (!field) throw new Error(`${type.name} has no field ${selection.name.value}`)
    return {
      key: selection.alias?.value ?? selection.name.value,
      // REST serves only viewers who may read the field.
      nullable: !isNonNullType(field.type) && !metadataOf(field).isWithheld,
      description: field.description ?? undefined,
      shape: readShape(field.type, selection.selectionSet),
    }
  })
  return { kind: 'object', name: type.name, fields }
}

/** The value at a path of an operation's data: `createUser.user`. */
export function valueAt(data: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => own(value as object | null | undefined, key), data)
}

/** Whether a field is null in REST if it has no value. The interface document allows it for `phone` alone. */
export function keepsNull(key: string): boolean {
  return key === 'phone'
}

/**
 * Encodes a value for REST: fields without a value are omitted, dates have colons, enum values are in lower case. JSON
 * objects are unchanged.
 *
 * `{ date_of_birth: '1990-05-17', gender: null, status: 'PENDING' }` ⇒ `{ date_of_birth: '1990:05:17', status:
 * 'pending' }`
 */
export function encode(shape: Shape, value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (shape.kind === 'list') return (value as unknown[]).map((item) => encode(shape.of, item))
  if (shape.kind === 'leaf') return encodeLeaf(shape.type, value)
  const encoded = shape.fields.map(({ key, shape: field }) => [key, encode(field, own(value, key))] as const)
  return recordOf(encoded.filter(([key, field]) => field !== null || keepsNull(key)))
}

function encodeLeaf(type: LeafShape['type'], value: unknown): unknown {
  if (type.name === 'Date') return String(value).replaceAll('-', ':')
  if (type instanceof GraphQLEnumType) return String(value).toLowerCase()
  return value
}

/** The reverse of encoding, for a value that a client sends. It is not checked. */
export function decodeLeaf(type: LeafShape['type'], value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (type.name === 'Date') return value.replaceAll(':', '-')
  if (type instanceof GraphQLEnumType) return value.toUpperCase()
  return value
}

/** The values of an enum type in REST. */
export function enumValuesOf(type: GraphQLEnumType): string[] {
  return type.getValues().map(({ name }) => String(encodeLeaf(type, name)))
}
