import type { GraphQLSchema } from 'graphql'
import { builder } from '../../schema/builder.ts'
import { acceptCoerced } from './coerced-variables.ts'

/** The schema, in the forms that operations need. */
export interface Schemas {
  /** Clients see it, and documents are validated against it. */
  readonly schema: GraphQLSchema
  /** Operations are executed with it for viewers who have every scope that the operation needs. */
  readonly executable: GraphQLSchema
  /** Operations are executed with it for other viewers: each field checks the viewer's scopes. */
  readonly guarded: GraphQLSchema
}

/** Builds the schema of the types that were defined with the builder. */
export function buildSchemas(): Schemas {
  const schema = builder.toSchema()
  return {
    schema,
    executable: acceptCoerced(schema),
    guarded: acceptCoerced(builder.toSchema({ guarded: true })),
  }
}
