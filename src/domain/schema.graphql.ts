import { lexicographicSortSchema, printSchema } from 'graphql'
import { buildSchemas } from '../engine/graphql/operation/prepare/schemas.ts'
import './nouns.ts'

/** The schema of all nouns. */
export const schemas = buildSchemas()

/** The text of schema.graphql. */
export function printSortedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schemas.schema))}\n`
}
