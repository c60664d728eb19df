import {
  type DocumentNode,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
  getNullableType,
  getOperationAST,
  isInputType,
  parse,
  typeFromAST,
  validate,
} from 'graphql'
import type { Route } from './route.ts'
import { type Shape, shapeOf } from './shape.ts'

/** A route's operation, made ready once: parsed, validated, its variables' types and its answer's shape known. */
export interface CompiledOperation {
  readonly document: DocumentNode
  readonly shape: Shape
  readonly variableTypes: ReadonlyMap<string, GraphQLInputType>
}

/** The type of a variable, or of a field of one: `id`, `input.id`. */
export function typeAt({ variableTypes }: CompiledOperation, path: string): GraphQLInputType {
  const [variable = '', field] = path.split('.')
  const type = variableTypes.get(variable)
  const found = field === undefined ? type : (getNullableType(type) as GraphQLInputObjectType).getFields()[field]?.type
  if (!found) throw new Error(`The operation has no variable ${path}`)
  return found
}

/**
 * Makes a route's operation ready.
 *
 * @throws Error when it is not a valid operation of the schema: the gateway then does not start
 */
export function compileOperation(
  schema: GraphQLSchema,
  { operation, answer }: Pick<Route, 'operation' | 'answer'>,
): CompiledOperation {
  const document = parse(operation)
  const errors = validate(schema, document)
  if (errors.length > 0) throw new Error(`${operation}: ${errors.join('\n')}`)
  const variableTypes = new Map<string, GraphQLInputType>()
  for (const { variable, type } of getOperationAST(document)?.variableDefinitions ?? []) {
    const inputType = typeFromAST(schema, type as never)
    if (isInputType(inputType)) variableTypes.set(variable.name.value, inputType)
  }
  return { document, shape: shapeOf(schema, document, answer), variableTypes }
}
