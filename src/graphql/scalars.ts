import { GraphQLScalarType } from 'graphql'
import { GraphQLDate, GraphQLDateTime, GraphQLJSONObject, GraphQLSafeInt } from 'graphql-scalars'

/** A JSON object: what phone numbers, addresses, payloads and results are. */
export type JsonObject = Record<string, unknown>

function described(scalar: GraphQLScalarType, description: string): GraphQLScalarType {
  return new GraphQLScalarType({ ...scalar.toConfig(), description })
}

/** The scalars that GraphQL does not bring. */
export const scalars = {
  DateTime: described(
    GraphQLDateTime,
    'A point in time, RFC 3339 in UTC with milliseconds: `2026-01-31T08:00:00.000Z`.',
  ),
  Date: described(GraphQLDate, 'A calendar date, RFC 3339: `1990-05-17`.'),
  JSONObject: described(GraphQLJSONObject, 'Any JSON object, with its keys in the order they were given.'),
  SafeInt: described(GraphQLSafeInt, 'A whole number up to 2^53 − 1, which every JSON reader keeps exactly.'),
}
