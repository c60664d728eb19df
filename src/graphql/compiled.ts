import {
  BREAK,
  type DocumentNode,
  type ExecutionResult,
  type FragmentDefinitionNode,
  getNamedType,
  Kind,
  TypeInfo,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { compileQuery, isCompiledQuery } from 'graphql-jit'
import type { Context } from '../context.ts'
import type { Metrics } from '../metrics.ts'
import { declareCoerced } from './coerced-variables.ts'
import { countFields } from './count-fields.ts'
import { executableSchema, schema } from './schema.ts'

/** An operation as a function: what graphql-js works out anew for each run is worked out once. */
export type CompiledQuery = (
  root: undefined,
  context: Context,
  variables: Readonly<Record<string, unknown>>,
) => ExecutionResult | Promise<ExecutionResult>

interface Entry {
  runs: number
  readonly queries: Map<string, CompiledQuery | undefined>
}

/**
 * By document, for as long as somebody keeps it: Yoga does for those it has parsed of late, and the REST routes for theirs.
 * So no more are held than there are documents.
 */
const entries = new WeakMap<DocumentNode, Entry>()

/**
 * The compiled form of a validated operation, from its second run on: a document that comes once is not worth it.
 *
 * @returns undefined when it is to be interpreted by graphql-js
 */
export function compiledQuery(
  document: DocumentNode,
  operationName: string | null | undefined,
  { operationsCompiled }: Pick<Metrics, 'operationsCompiled'>,
): CompiledQuery | undefined {
  const entry = entries.get(document) ?? { runs: 0, queries: new Map() }
  entries.set(document, entry)
  entry.runs += 1
  if (entry.runs < 2) return undefined
  const name = operationName ?? ''
  if (!entry.queries.has(name)) {
    operationsCompiled.inc()
    entry.queries.set(name, compile(document, operationName))
  }
  return entry.queries.get(name)
}

/** Compiles an operation that will come again and again before it comes: those of the REST routes. */
export function compileAhead(document: DocumentNode): void {
  entries.set(document, { runs: 1, queries: new Map([['', compile(document, undefined)]]) })
}

/**
 * Compiles an operation. What graphql-jit cannot do, or does otherwise, is left to graphql-js:
 *
 * - a document with @skip or @include, since an error of a field that was asked for twice and skipped once would name the
 *   place that was skipped;
 * - a variable inside of a list or an object that is written in the document, which graphql-jit does not check, and a JSON
 *   object that is, where it loses variables;
 * - an operation of very many fields, which takes seconds to compile.
 */
export function compile(document: DocumentNode, operationName: string | null | undefined): CompiledQuery | undefined {
  if (isForGraphQLJs(document) || fieldsOf(document) > maxFields) return undefined
  const compiled = compileQuery(executableSchema, declareCoerced(document), operationName ?? undefined, {
    disablingCapturingStackErrors: true,
  })
  return isCompiledQuery(compiled) ? (compiled.query as CompiledQuery) : undefined
}

function isForGraphQLJs(document: DocumentNode): boolean {
  let found = false
  const types = new TypeInfo(schema)
  const stop = () => {
    found = true
    return BREAK
  }
  visit(
    document,
    visitWithTypeInfo(types, {
      Directive: stop,
      // Those of variable definitions are not reached: a default holds no variable.
      ListValue: (node) => (hasVariable(node) ? stop() : undefined),
      ObjectValue: (node) => (hasVariable(node) || isJson(types) ? stop() : undefined),
    }),
  )
  return found
}

function isJson(types: TypeInfo): boolean {
  const type = types.getInputType()
  return type != null && getNamedType(type).name === 'JSONObject'
}

function hasVariable(value: ValueNode): boolean {
  if (value.kind === Kind.VARIABLE) return true
  if (value.kind === Kind.LIST) return value.values.some(hasVariable)
  return value.kind === Kind.OBJECT && value.fields.some((field) => hasVariable(field.value))
}

/** More take more than some tens of milliseconds, and are seldom asked twice. */
const maxFields = 1_000

function fieldsOf({ definitions }: DocumentNode): number {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const one of definitions) if (one.kind === Kind.FRAGMENT_DEFINITION) fragments.set(one.name.value, one)
  const counts = definitions.map((one) =>
    one.kind === Kind.OPERATION_DEFINITION ? countFields(one.selectionSet, (name) => fragments.get(name)) : 0,
  )
  return Math.max(...counts)
}
