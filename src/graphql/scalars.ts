import { GraphQLError, GraphQLScalarType, type ValueNode, visit } from 'graphql'
import { GraphQLDate, GraphQLDateTimeISO, GraphQLJSONObject, GraphQLSafeInt } from 'graphql-scalars'
import { isStorableTime } from '../db/storable.ts'

/** A JSON object: what phone numbers, addresses, payloads and results are. */
export type JsonObject = Record<string, unknown>

function described(scalar: GraphQLScalarType, description: string): GraphQLScalarType {
  return new GraphQLScalarType({ ...scalar.toConfig(), description })
}

/** Takes no time that the database could not hold: a year 0 is well-formed, and unknown to PostgreSQL. */
function storable<Output>(name: string, scalar: GraphQLScalarType<Date, Output>): GraphQLScalarType<Date, Output> {
  const check = (time: Date) => {
    if (isStorableTime(time)) return time
    throw new GraphQLError('A time must be in the years 1 to 9999.')
  }
  return new GraphQLScalarType({
    ...scalar.toConfig(),
    name,
    parseValue: (value) => check(scalar.parseValue(value)),
    parseLiteral: (node: ValueNode) => check(scalar.parseLiteral(node)),
  })
}

/** Takes no object written in a document that holds what JSON has no word for: the scalar would drop it without one. */
function complete(scalar: GraphQLScalarType): GraphQLScalarType {
  return new GraphQLScalarType({
    ...scalar.toConfig(),
    parseLiteral(node, variables) {
      visit(node, {
        EnumValue({ value }) {
          throw new GraphQLError(`JSON has no value ${value}. Is it a text, in quotes?`, { nodes: node })
        },
        FloatValue({ value }) {
          if (!Number.isFinite(Number(value)))
            throw new GraphQLError(`${value} is too large a number.`, { nodes: node })
        },
      })
      return scalar.parseLiteral(node, variables)
    },
  })
}

/** The scalars that GraphQL does not bring. */
export const scalars = {
  DateTime: described(
    // As a string: JSON.stringify leaves its fast way for a Date.
    storable('DateTime', GraphQLDateTimeISO),
    'A point in time, RFC 3339 in UTC with milliseconds: `2026-01-31T08:00:00.000Z`.',
  ),
  Date: described(storable('Date', GraphQLDate), 'A calendar date, RFC 3339: `1990-05-17`.'),
  JSONObject: described(complete(GraphQLJSONObject), 'Any JSON object, with its keys in the order they were given.'),
  SafeInt: described(GraphQLSafeInt, 'A whole number up to 2^53 − 1, which every JSON reader keeps exactly.'),
}
