import { randomUUID } from 'node:crypto'
import type { AppTypes } from '@fusion-gateway/pothos-trees'
import {
  type Entities,
  extendToSubgraph,
  type LoadObjects,
  printSubgraph,
  requiresScopes,
  semanticNonNull,
} from '@fusion-gateway/pothos-trees'
import {
  type DocumentNode,
  GraphQLScalarType,
  type GraphQLSchema,
  Kind,
  specifiedDirectives,
  type VariableDefinitionNode,
} from 'graphql'
import { liveDirective, withoutLive } from '../../live/directive.ts'

/** The schema, in the forms that operations need. */
export interface Schemas {
  /** Clients see it, and documents are validated against it. */
  readonly schema: GraphQLSchema
  /** Operations are executed with it for viewers who have every scope that the operation needs. */
  readonly executable: GraphQLSchema
  /** Operations are executed with it for other viewers: each field checks the viewer's scopes. */
  readonly guarded: GraphQLSchema
}

/**
 * Builds the schema of a builder, in these forms.
 *
 * @param description of the schema
 */
export function buildSchemas(builder: PothosSchemaTypes.SchemaBuilder<AppTypes>, description: string): Schemas {
  const directives = [...specifiedDirectives, liveDirective, semanticNonNull, requiresScopes]
  const schema = Object.assign(builder.toSchema({ directives, guarded: false }), { description })
  return {
    schema,
    executable: acceptCoerced(schema),
    guarded: acceptCoerced(Object.assign(builder.toSchema({ directives }), { description })),
  }
}

/**
 * The schema of a subgraph: with what a router asks for.
 *
 * @param load loads the objects of a type
 */
export function subgraphOf({ schema, guarded }: Schemas, entities: Entities, load: LoadObjects): Schemas {
  const sdl = printSubgraph(schema, entities)
  const extended = extendToSubgraph(schema, entities, sdl, load)
  return {
    schema: extended,
    executable: acceptCoerced(extended),
    guarded: acceptCoerced(extendToSubgraph(guarded, entities, sdl, load)),
  }
}

const Coerced = new GraphQLScalarType({ name: 'Coerced', description: 'A value that was coerced before.' })

/** The name by which documents refer to `Coerced`. No client can guess it, so introspection never finds the type. */
const coercedName = randomUUID()

/**
 * A view of a schema with which the documents of `declareCoerced` can be executed. Introspection returns the same for
 * both.
 */
function acceptCoerced(schema: GraphQLSchema): GraphQLSchema {
  const getType: GraphQLSchema['getType'] = (name) => (name === coercedName ? Coerced : schema.getType(name))
  return Object.create(schema, { getType: { value: getType } })
}

/**
 * A document without `@live`, whose variables have the type `Coerced` and no defaults. Both executors coerce variables themselves, and
 * some scalars cannot be coerced twice: `Date` takes a string and returns a `Date`, which it rejects the second time.
 *
 * `query ($id: ID! = "a") { user(id: $id) { id } }` ⇒ `query ($id: Coerced) { user(id: $id) { id } }`
 */
export function declareCoerced(document: DocumentNode): DocumentNode {
  return {
    ...document,
    definitions: document.definitions.map((definition) =>
      definition.kind === Kind.OPERATION_DEFINITION && definition.variableDefinitions
        ? { ...withoutLive(definition), variableDefinitions: definition.variableDefinitions.map(asCoerced) }
        : definition,
    ),
  }
}

function asCoerced({ kind, variable }: VariableDefinitionNode): VariableDefinitionNode {
  return { kind, variable, type: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: coercedName } } }
}
