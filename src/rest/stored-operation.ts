import { type GraphQLInputObjectType, type GraphQLInputType, getNullableType, isInputType, typeFromAST } from 'graphql'
import type { PreparedOperation, Preparer } from '../engine/graphql/operation/prepare/prepare.ts'
import { own } from '../engine/own.ts'
import { type Shape, shapeOf } from './shape.ts'

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
    const inputType = typeFromAST(schema, type as never)
    if (isInputType(inputType)) variableTypes.set(variable.name.value, inputType)
  }
  return { operation, shape: shapeOf(schema, operation.definition, path), variableTypes }
}

/** The type of a variable, or of a field of one: `id`, `input.id`. */
export function typeAt({ variableTypes }: StoredOperation, path: string): GraphQLInputType {
  const [variable = '', field] = path.split('.')
  const type = variableTypes.get(variable)
  const found =
    field === undefined ? type : own((getNullableType(type) as GraphQLInputObjectType).getFields(), field)?.type
  if (!found) throw new Error(`The operation has no variable ${path}`)
  return found
}
