import { hash } from 'node:crypto'
import type { Viewer } from '@fusion-gateway/auth'
import type { Scope } from '@fusion-gateway/base'
import {
  createPlanner,
  type Dependencies,
  dependenciesOf,
  type LoggedModels,
  metadataOf,
  readSelection,
  type Values,
} from '@fusion-gateway/pothos-trees'
import type { ReadPlan } from '@fusion-gateway/prisma-trees'
import { type Metrics, maxNameLength, type OperationSummary } from '@fusion-gateway/telemetry'
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  isAbstractType,
  type OperationDefinitionNode,
} from 'graphql'
import { LRUCache } from 'lru-cache'
import type { Context } from '../../context.ts'
import { type Live, readLive, subscribedLive, withoutLive } from '../../live/directive.ts'
import { DocumentError } from './bounds.ts'
import { coerceVariables } from './coerce-variables.ts'
import { type CompiledOperation, compileOperation } from './compile.ts'
import { createCost } from './cost.ts'
import { createDocumentReader, type ReadDocument } from './read-document.ts'
import { declareCoerced, type Schemas } from './schemas.ts'

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
  /** What its response depends on. */
  dependenciesOn(logged: LoggedModels): Dependencies
  /**
   * How it is followed: what its directive `@live` says, for coerced variables, or how a subscription to an object is.
   * Undefined if it is not.
   *
   * @throws GraphQLError if its arguments are out of range
   */
  live(coerced?: Values): Live | undefined
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
  /** What live queries can follow. Without it no query is live. */
  readonly live?: LoggedModels | undefined
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
  const { schemas, introspection, metrics, documents = createDocumentCache(), live = none } = options
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
      const operation = ready ?? prepareOperation(schemas, document, definition, metrics)
      if (!ready) {
        operations.set(definition, operation)
        prepared.size += operation.size
        keep(text, prepared)
      }
      const refused = liveErrorsOf(operation, live)
      return refused.length > 0 ? { document, errors: refused, isBadRequest: false } : { operation, document }
    },
  }
}

const none: LoggedModels = { models: new Set() }

/** Why an operation with `@live` cannot be live. */
function liveErrorsOf(operation: PreparedOperation, live: LoggedModels): readonly GraphQLError[] {
  const { definition } = operation
  if (!definition.directives?.length) return []
  try {
    if (!operation.live()) return []
  } catch (error) {
    if (error instanceof GraphQLError) return [error]
    throw error
  }
  const { unlogged } = operation.dependenciesOn(live)
  if (unlogged.length === 0) return []
  const names = unlogged.slice(0, maxNamed).join(', ')
  const message = `The query cannot be live, because of ${names}: their values change without a notice. Request them in another query.`
  return [new DocumentError(message, { nodes: definition })]
}

/** How many fields an error names. */
const maxNamed = 5

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
  const selection = readSelection(schema, document, withoutLive(definition))
  const executable = declareCoerced(document)
  const name = definition.name?.value
  const fields = new Set(selection.all.map(({ parent, field }) => `${parent.name}.${field.name}`))
  const isLive = selection.fields.some(({ field }) => metadataOf(field).isLive === true)
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
    live: (coerced) => (isLive ? subscribedLive : readLive(definition, coerced)),
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
