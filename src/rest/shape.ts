import {
  type DocumentNode,
  GraphQLEnumType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  type GraphQLSchema,
  getOperationAST,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql'

/** What an operation answers, as far as REST needs to know: the keys in order, and the type of each value. */
export type Shape = ObjectShape | ListShape | LeafShape

export interface ObjectShape {
  readonly kind: 'object'
  /** The GraphQL type. */
  readonly name: string
  readonly fields: readonly FieldShape[]
}

export interface FieldShape {
  /** The key in the answer: the alias. */
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
 * @param document one operation, written without fragments
 * @param path keys of the answer, joined by dots: `createUser.user`; lists are passed through
 */
export function shapeOf(schema: GraphQLSchema, document: DocumentNode, path: string): Shape {
  const operation = getOperationAST(document)
  const root = operation && schema.getRootType(operation.operation)
  if (!operation || !root) throw new Error('The document holds no operation of this schema')
  let shape = compile(root, operation.selectionSet)
  for (const key of path.split('.')) {
    const fields = shape.kind === 'object' ? shape.fields : []
    const next = fields.find((field) => field.key === key)
    if (!next) throw new Error(`The operation answers nothing at ${path}`)
    shape = next.shape
  }
  return shape
}

function compile(type: GraphQLOutputType, selectionSet: SelectionSetNode | undefined): Shape {
  if (isNonNullType(type)) return compile(type.ofType, selectionSet)
  if (isListType(type)) return { kind: 'list', of: compile(type.ofType, selectionSet) }
  if (!isObjectType(type)) return { kind: 'leaf', type: type as LeafShape['type'] }
  const fields = (selectionSet?.selections ?? []).map((selection): FieldShape => {
    if (selection.kind !== Kind.FIELD) throw new Error('Stored operations are written without fragments')
    const field = type.getFields()[selection.name.value]
    if (!field) throw new Error(`${type.name} has no field ${selection.name.value}`)
    return {
      key: selection.alias?.value ?? selection.name.value,
      nullable: !isNonNullType(field.type),
      description: field.description ?? undefined,
      shape: compile(field.type, selection.selectionSet),
    }
  })
  return { kind: 'object', name: type.name, fields }
}

/** The one field that the interface document allows to be null. Any other without a value is left out. */
export function keepsNull(key: string): boolean {
  return key === 'phone'
}

/**
 * A value of an operation's data as the REST clients know it: fields without a value left out, dates written with
 * colons, enum values in lower case. Free-form JSON is passed through untouched.
 *
 * `{ date_of_birth: '1990-05-17', gender: null, status: 'PENDING' }` ⇒ `{ date_of_birth: '1990:05:17', status: 'pending' }`
 */
export function encode(shape: Shape, value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (shape.kind === 'list') return (value as unknown[]).map((item) => encode(shape.of, item))
  if (shape.kind === 'leaf') return encodeLeaf(shape.type, value)
  const encoded: Record<string, unknown> = {}
  for (const { key, shape: fieldShape } of shape.fields) {
    const field = encode(fieldShape, (value as Record<string, unknown>)[key])
    if (field !== null || keepsNull(key)) encoded[key] = field
  }
  return encoded
}

function encodeLeaf(type: LeafShape['type'], value: unknown): unknown {
  if (type.name === 'Date') return String(value).replaceAll('-', ':')
  if (type instanceof GraphQLEnumType) return String(value).toLowerCase()
  return value
}
