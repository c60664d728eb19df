import type { GraphQLSchema } from 'graphql'
import type { PreparedOperation } from '../engine/graphql/operation/prepare/prepare.ts'
import { fieldNamed } from '../engine/graphql/schema/deprecation.ts'
import { metadataOf } from '../engine/graphql/schema/field-metadata.ts'

/**
 * The headers of a route that selects deprecated fields: since when the first one is deprecated, and when the first one
 * can be removed. Empty if none is.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9745 and https://www.rfc-editor.org/rfc/rfc8594
 */
export function deprecationHeaders(schema: GraphQLSchema, { counted }: PreparedOperation): Record<string, string> {
  const deprecations = [...counted.fields].flatMap(
    (name) => metadataOf(fieldNamed(schema, name) ?? {}).deprecation ?? [],
  )
  const [since] = deprecations.map((one) => one.since).sort()
  const [sunset] = deprecations.map((one) => one.sunset).sort()
  if (since === undefined || sunset === undefined) return {}
  return { deprecation: `@${Date.parse(since) / 1_000}`, sunset: new Date(sunset).toUTCString() }
}
