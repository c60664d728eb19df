import { lexicographicSortSchema, printSchema } from 'graphql'
import '../../noun/nouns.ts'
import { builder } from '../schema/builder.ts'
import { acceptCoerced } from './prepare/coerced-variables.ts'

/** The schema of all nouns. Documents are validated against it. */
export const schema = builder.toSchema()

/** The schema with which operations are executed for viewers who have every scope that the operation needs. */
export const executableSchema = acceptCoerced(schema)

/** The schema with which operations are executed for other viewers: each field checks the viewer's scopes. */
export const guardedSchema = acceptCoerced(builder.toSchema({ guarded: true }))

/** The text of schema.graphql. */
export function printSortedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}
