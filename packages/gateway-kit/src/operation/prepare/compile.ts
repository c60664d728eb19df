// The only file that knows graphql-jit, which saves a fifth of the CPU of a request (docs/decisions/0002-graphql-jit.md).
//
// Nothing depends on it: `compileOperation` may return undefined for each operation, and graphql-js executes it then. So
// another compiler needs this function alone, with a list of what it handles differently, and
// test/graphql/compiled.test.ts, which compares both executors. Without a compiler, `compiled` of prepare.ts and its call
// in execute.ts go too.

import { ownValue } from '@fusion-gateway/base'
import type { SelectedField, Selection, Values } from '@fusion-gateway/pothos-trees'
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  Kind,
  type ValueNode,
} from 'graphql'
import { compileQuery, isCompiledQuery } from 'graphql-jit'
import type { Context } from '../../context.ts'

/** An operation as a function of its coerced variables. */
export type CompiledOperation = (
  root: undefined,
  context: Context,
  coerced: Values,
) => ExecutionResult | Promise<ExecutionResult>

/** Compiling more fields takes tens of milliseconds or more, and such operations are rarely sent twice. */
const maxFields = 1_000

/**
 * Compiles an operation with graphql-jit. Its results equal those of graphql-js (test/graphql/compiled.test.ts).
 * graphql-js executes the operations that graphql-jit 0.8 handles differently:
 *
 * - with directives: after `@skip`, the error of a field that is selected twice names the wrong location;
 * - with a variable inside a list or an object, which graphql-jit does not check;
 * - with a JSON object in the document, in which graphql-jit loses variables;
 * - with the name `__proto__`: graphql-jit loses an alias and a variable of this name;
 * - with more than 1,000 fields.
 *
 * @param schema that accepts `Coerced` variables (schemas.ts)
 * @param document with such variables
 * @returns undefined if graphql-js is to execute the operation
 */
export function compileOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | undefined,
  selection: Selection,
): CompiledOperation | undefined {
  const { hasDirectives, size, all } = selection
  if (hasDirectives || size > maxFields || !all.every(hasSupportedArguments)) return undefined
  if (document.loc?.source.body.includes('__proto__')) return undefined
  const compiled = compileQuery(schema, document, operationName, { disablingCapturingStackErrors: true })
  return isCompiledQuery(compiled) ? (compiled.query as CompiledOperation) : undefined
}

function hasSupportedArguments({ node, field }: SelectedField): boolean {
  return (node.arguments ?? []).every(({ name, value }) => {
    const type = field.args.find((arg) => arg.name === name.value)?.type
    return !type || value.kind === Kind.VARIABLE || isSupported(value, getNamedType(type))
  })
}

/** @param type without lists */
function isSupported(value: ValueNode, type: GraphQLNamedType): boolean {
  if (value.kind === Kind.LIST) return value.values.every((item) => isSupported(item, type))
  if (value.kind !== Kind.OBJECT) return value.kind !== Kind.VARIABLE
  return (
    isInputObjectType(type) &&
    value.fields.every((inputField) => {
      const inputType = ownValue(type.getFields(), inputField.name.value)?.type
      return inputType !== undefined && isSupported(inputField.value, getNamedType(inputType))
    })
  )
}
