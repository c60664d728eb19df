import { recordOf } from '@fusion-gateway/base'
import { tooLargeNumberIn } from '@fusion-gateway/input'
import { isStorableTime } from '@fusion-gateway/sql'
import { GraphQLError, GraphQLScalarType, Kind, type ValueNode, valueFromASTUntyped, visit } from 'graphql'
import { GraphQLDate, GraphQLDateTimeISO, GraphQLJSONObject, GraphQLSafeInt } from 'graphql-scalars'

/** A JSON object: a phone number, an address, a payload or a result. */
export type JsonObject = Record<string, unknown>

/** @param section of the RFC that specifies the values: `rfc3339#section-5.6` */
function described(scalar: GraphQLScalarType, section: string, description: string): GraphQLScalarType {
  const specifiedByURL = `https://www.rfc-editor.org/rfc/${section}`
  return new GraphQLScalarType({ ...scalar.toConfig(), specifiedByURL, description })
}

/**
 * Rejects times that PostgreSQL cannot store, such as the year 0. A time that is a text comes from a read, which has
 * formatted it.
 */
function storable<Output>(name: string, scalar: GraphQLScalarType<Date, Output>): GraphQLScalarType<Date, Output> {
  const check = (time: Date) => {
    if (isStorableTime(time)) return time
    throw new GraphQLError('A time must be in the years 1 to 9999.')
  }
  return new GraphQLScalarType({
    ...scalar.toConfig(),
    name,
    serialize: (value) => (typeof value === 'string' ? (value as Output) : scalar.serialize(value)),
    parseValue: (value) => check(scalar.parseValue(value)),
    parseLiteral: (node: ValueNode) => check(scalar.parseLiteral(node)),
  })
}

/** @throws GraphQLError for a number that JSON.parse would round or make infinite */
function checkNumber(text: string): void {
  const number = tooLargeNumberIn(text)
  if (number) throw new GraphQLError(`The number ${number} is too large. Send it as a text.`)
}

/** Rejects object literals with values that JSON does not have, because the scalar would drop them silently. */
function complete(scalar: GraphQLScalarType): GraphQLScalarType {
  return new GraphQLScalarType({
    ...scalar.toConfig(),
    parseLiteral(node, variables) {
      visit(node, {
        EnumValue({ value }) {
          throw new GraphQLError(`JSON has no value ${value}. If it is a string, put it in quotes.`, { nodes: node })
        },
        FloatValue: ({ value }) => checkNumber(value),
        IntValue: ({ value }) => checkNumber(value),
      })
      return scalar.parseLiteral(node, recordOf(Object.entries(variables ?? {})))
    },
  })
}

/** A value of JSON without values in it, other than null. */
export type JsonScalar = string | number | boolean

function toJsonScalar(value: unknown): JsonScalar {
  if (typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return value as JsonScalar
  throw new GraphQLError('JSONScalar must be a text, a number, true or false.')
}

export const scalars = {
  DateTime: described(
    // It serializes to a string, because JSON.stringify is slower for a Date.
    storable('DateTime', GraphQLDateTimeISO),
    'rfc3339#section-5.6',
    'A point in time: RFC 3339 in UTC with milliseconds, such as `2026-01-31T08:00:00.000Z`.',
  ),
  Date: described(
    storable('Date', GraphQLDate),
    'rfc3339#section-5.6',
    'A calendar date: RFC 3339, such as `1990-05-17`.',
  ),
  JSONObject: described(
    complete(GraphQLJSONObject),
    'rfc8259#section-4',
    'A JSON object. Its keys keep their order, except for keys that are whole numbers, which come first.',
  ),
  JSONScalar: described(
    new GraphQLScalarType({
      name: 'JSONScalar',
      serialize: toJsonScalar,
      parseValue: toJsonScalar,
      parseLiteral(node) {
        if (node.kind === Kind.INT || node.kind === Kind.FLOAT) checkNumber(node.value)
        return toJsonScalar(valueFromASTUntyped(node))
      },
    }),
    'rfc8259#section-3',
    'A value of JSON that is a text, a number, true or false.',
  ),
  SafeInt: described(
    GraphQLSafeInt,
    'rfc7493#section-2.2',
    'An integer up to 2^53 − 1, which every JSON parser reads exactly.',
  ),
}
