import { hash } from 'node:crypto'
import type { Viewer } from '@fusion-gateway/auth'
import { ownValue, type Scope } from '@fusion-gateway/base'
import {
  createPlanner,
  type Dependencies,
  dependenciesOf,
  metadataOf,
  readSelection,
  type SelectedField,
  type Selection,
  type Values,
} from '@fusion-gateway/pothos-trees'
import type { Model, ReadPlan } from '@fusion-gateway/prisma-trees'
import { type Metrics, maxNameLength, type OperationSummary } from '@fusion-gateway/telemetry'
import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getOperationAST,
  isAbstractType,
  isInputObjectType,
  Kind,
  type OperationDefinitionNode,
  type ValueNode,
} from 'graphql'
import { compileQuery, isCompiledQuery } from 'graphql-jit'
import { LRUCache } from 'lru-cache'
import type { Context } from '../../context.ts'
import { coerceVariables } from './coerce-variables.ts'
import { createCost } from './cost.ts'
import { createDocumentReader, type ReadDocument } from './read-document.ts'
import { declareCoerced, type Schemas } from './schemas.ts'

/** An operation as a function of its coerced variables. */
type CompiledOperation = (
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
function compileOperation(
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

/** A validated operation, with everything that is known before it runs. */
export interface PreparedOperation {
  /** As the client sent it. */
  readonly document: DocumentNode
  readonly definition: OperationDefinitionNode
  readonly name: string | undefined
  readonly kind: 'query' | 'mutation' | 'subscription'
  /** The number of its fields, with its fragments inlined. */
  readonly size: number
  /** The scopes of all its fields. The scope of a `node` is known when it is loaded. */
  readonly scopes: readonly Scope[]
  /** Whether it has a field whose type, and so its scope, is known when a row is loaded: `node`. */
  readonly hasTypesOfRows: boolean
  /** Whether its response has secrets, which are shown only once. */
  readonly showsSecrets: boolean
  /** How it is counted: its name, cut, the hash of its document, and the fields that it selects. */
  readonly summary: OperationSummary
  /** The document that the executors get, with `Coerced` variables. */
  readonly executable: DocumentNode
  readonly schemas: Schemas
  /** The cost in points, for variables as the client sent them. */
  costOf(variables: Values): number
  /** The fields by their path, with the points of each, the costliest first. */
  costliestFields(variables: Values): readonly (readonly [path: string, points: number])[]
  /** What ran has cost, by the data of a response: the same sum as the cost, of what is there. */
  usedBy(variables: Values, data: unknown): number
  coerce(variables: Values): ReturnType<typeof coerceVariables>
  /** Its reads, for coerced variables and the request. */
  planOf(coerced: Values, context: Context): ReadPlan
  /**
   * What its response depends on.
   *
   * @param logged the models of whose rows each change is an event
   * @returns undefined if the response can change without an event
   */
  dependenciesOn(logged: ReadonlySet<Model>): Dependencies | undefined
  /** Notes for how long a run kept the event loop busy, in milliseconds. */
  addRunTime(milliseconds: number): void
  /** How long its last runs kept the event loop busy, in milliseconds; undefined before the first run has ended. */
  busyMilliseconds(): number | undefined
  /** The compiled operation, from the second call on; undefined if graphql-js is to execute it. */
  compiled(): CompiledOperation | undefined
}

export type Preparation =
  | {
      readonly operation: PreparedOperation
      readonly document: DocumentNode
      readonly errors?: undefined
      readonly isBadRequest?: undefined
    }
  | {
      readonly operation?: undefined
      /** Undefined if it has a syntax error, or there is none. */
      readonly document?: DocumentNode
      readonly errors: readonly GraphQLError[]
      /** Whether the request names no operation. The HTTP status is 400 then, whatever the client accepts. */
      readonly isBadRequest: boolean
    }

/** Prepares operations: parses, validates and analyses each document once. */
export interface Preparer {
  readonly schema: GraphQLSchema
  prepare(text: string | undefined, operationName?: string | null): Preparation
  /** Whether the cache has the prepared operation of the document, or the errors of the document. */
  isPrepared(text: string, operationName?: string | null): boolean
}

export interface PreparerOptions {
  readonly schemas: Schemas
  readonly introspection: boolean
  readonly metrics: Metrics
  /** The cache, which the preparers of a process share. */
  readonly documents?: DocumentCache
}

/**
 * The maximum number of cached documents, and their maximum total size. Each token, each field of a prepared operation
 * and every 32 characters count as one. A token, or a field with its compiled code, takes up to 1 KiB, so the cache
 * takes about 250 MiB at most.
 */
const maxDocuments = 1_024
const maxTotalSize = 250_000
const charactersPerToken = 32

interface PreparedDocument extends ReadDocument {
  /** Whether it was validated as one that may introspect the schema. */
  readonly introspection: boolean
  /** The tokens, and the fields of the operations that are prepared. */
  size: number
  readonly operations: Map<OperationDefinitionNode, PreparedOperation>
}

export type DocumentCache = ReturnType<typeof createDocumentCache>

/** @param maxSize less than what the process keeps, in tests */
export function createDocumentCache(maxSize = maxTotalSize) {
  return new LRUCache<string, PreparedDocument>({
    max: maxDocuments,
    maxSize,
    sizeCalculation: ({ size }, text) => size + Math.ceil((text.length + 1) / charactersPerToken),
  })
}

export function createPreparer(options: PreparerOptions): Preparer {
  const { schemas, introspection, metrics, documents = createDocumentCache() } = options
  const { schema } = schemas
  const read = createDocumentReader(schema, introspection)

  function find(text: string): PreparedDocument | undefined {
    const known = documents.get(text)
    return known?.introspection === introspection ? known : undefined
  }

  function keep(text: string, prepared: PreparedDocument): void {
    // The cache measures a document only when it is added.
    documents.delete(text)
    documents.set(text, prepared)
  }

  return {
    schema,
    isPrepared(text, operationName) {
      const known = find(text)
      if (!known?.document || known.errors.length > 0) return known !== undefined
      const definition = getOperationAST(known.document, operationName)
      return !definition || known.operations.has(definition)
    },
    prepare(text, operationName) {
      if (text === undefined) return badRequest('Must provide query string.')
      const known = find(text)
      const prepared = known ?? { ...read(text), introspection, operations: new Map() }
      if (!known) keep(text, prepared)
      const { document, errors, operations } = prepared
      if (!document) return { errors, isBadRequest: false }
      const definition = getOperationAST(document, operationName)
      if (!definition) {
        return badRequest(
          operationName == null
            ? 'Could not determine what operation to execute.'
            : `The document has no operation named "${operationName.slice(0, maxNameLength)}".`,
        )
      }
      if (errors.length > 0) return { document, errors, isBadRequest: false }
      const ready = operations.get(definition)
      if (ready) return { operation: ready, document }
      const operation = prepareOperation(schemas, document, definition, metrics)
      operations.set(definition, operation)
      prepared.size += operation.size
      keep(text, prepared)
      return { operation, document }
    },
  }
}

/** In the words of Yoga. */
function badRequest(message: string): Preparation {
  return { errors: [new GraphQLError(message)], isBadRequest: true }
}

function prepareOperation(
  schemas: Schemas,
  document: DocumentNode,
  definition: OperationDefinitionNode,
  { operationsCompiled }: Metrics,
): PreparedOperation {
  const { schema } = schemas
  const selection = readSelection(schema, document, definition)
  const executable = declareCoerced(document)
  const name = definition.name?.value
  const fields = new Set(selection.all.map(({ parent, field }) => `${parent.name}.${field.name}`))
  let calls = 0
  let compiled: CompiledOperation | undefined
  let busyMilliseconds: number | undefined
  return {
    document,
    definition,
    name,
    kind: definition.operation,
    size: selection.size,
    executable,
    schemas,
    scopes: [...selection.scopes],
    hasTypesOfRows: selection.all.some(({ type }) => isAbstractType(type)),
    showsSecrets: selection.fields.some(({ field }) => metadataOf(field).isSecret === true),
    summary: { name: name?.slice(0, maxNameLength), hash: hash('sha256', document.loc?.source.body ?? ''), fields },
    ...createCost(definition, selection),
    planOf: createPlanner(selection),
    dependenciesOn: (logged) => dependenciesOf(selection, logged),
    coerce: (variables) => coerceVariables(schema, definition, variables),
    addRunTime(milliseconds) {
      // A long run counts for some runs after it: other variables can make the next one short.
      busyMilliseconds = Math.max(milliseconds, (busyMilliseconds ?? 0) * 0.9)
    },
    busyMilliseconds: () => busyMilliseconds,
    compiled() {
      calls += 1
      // A document that is sent once is not worth compiling.
      if (calls !== 2) return compiled
      operationsCompiled.inc()
      compiled = compileOperation(schemas.executable, executable, name, selection)
      return compiled
    },
  }
}

export function hasScopes({ scopes }: Viewer, operation: PreparedOperation): boolean {
  return operation.scopes.every((scope) => scopes.includes(scope))
}
