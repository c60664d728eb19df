import { type DocumentNode, GraphQLScalarType, GraphQLSchema, Kind, type VariableDefinitionNode } from 'graphql'

/** The type of a variable whose value was coerced before. */
const Coerced = new GraphQLScalarType({ name: 'Coerced', description: 'A value that was coerced before.' })

/** A schema with which the documents of `declareCoerced` can be executed. It shares every type with the given schema. */
export function acceptCoerced(schema: GraphQLSchema): GraphQLSchema {
  const config = schema.toConfig()
  return new GraphQLSchema({ ...config, types: [...config.types, Coerced] })
}

/**
 * A document whose variables have the type `Coerced` and no defaults. Both executors coerce variables themselves, and some
 * scalars cannot be coerced twice: `Date` takes a string and returns a `Date`, which it rejects the second time.
 *
 * `query ($id: ID! = "a") { user(id: $id) { id } }` ⇒ `query ($id: Coerced) { user(id: $id) { id } }`
 */
export function declareCoerced(document: DocumentNode): DocumentNode {
  return {
    ...document,
    definitions: document.definitions.map((definition) =>
      definition.kind === Kind.OPERATION_DEFINITION && definition.variableDefinitions
        ? { ...definition, variableDefinitions: definition.variableDefinitions.map(asCoerced) }
        : definition,
    ),
  }
}

function asCoerced({ kind, variable }: VariableDefinitionNode): VariableDefinitionNode {
  return { kind, variable, type: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: Coerced.name } } }
}
