// The only file that knows graphql-jit, which saves a fifth of the CPU of a request (docs/decisions/0002-graphql-jit.md).
//
// Nothing depends on it: `compileOperation` may return undefined for each operation, and graphql-js executes it then. So
// another compiler needs this function alone, with a list of what it handles differently, and
// test/graphql/compiled.test.ts, which compares both executors. Without a compiler, `compiled` of prepare.ts and its call
// in execute.ts go too.

import { own } from '@fusion-gateway/base'
import { allFields, type Selection, type Values } from '@fusion-gateway/pothos-trees'
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
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
  if (selection.hasDirectives || selection.size > maxFields || hasUnsupportedArguments(selection)) return undefined
  if (document.loc?.source.body.includes('__proto__')) return undefined
  const compiled = compileQuery(schema, document, operationName, { disablingCapturingStackErrors: true })
  return isCompiledQuery(compiled) ? (compiled.query as CompiledOperation) : undefined
}

function hasUnsupportedArguments({ fields }: Selection): boolean {
  for (const { node, field } of allFields(fields)) {
    for (const { name, value } of node.arguments ?? []) {
      const type = field.args.find((arg) => arg.name === name.value)?.type
      if (type && !isSupported(value, type)) return true
    }
  }
  return false
}

function isSupported(value: ValueNode, type: GraphQLInputType): boolean {
  const nullable = getNullableType(type)
  if (value.kind === Kind.LIST) {
    const itemType = isListType(nullable) ? nullable.ofType : nullable
    return value.values.every((item) => item.kind !== Kind.VARIABLE && isSupported(item, itemType))
  }
  if (value.kind !== Kind.OBJECT) return true
  const named = getNamedType(type)
  if (!isInputObjectType(named)) return false
  const inputFields = named.getFields()
  return value.fields.every((inputField) => {
    const inputType = own(inputFields, inputField.name.value)?.type
    return (
      inputField.value.kind !== Kind.VARIABLE && inputType !== undefined && isSupported(inputField.value, inputType)
    )
  })
}
