import { type ExecutionResult, GraphQLError } from 'graphql'
import type { GraphQLResponse } from '../../support/app.ts'

/**
 * What is compared of a response: its data with the order of its keys, and of each error the code, the path and the
 * locations.
 */
export interface Compared {
  readonly data: string
  readonly errors: readonly string[]
  /** The errors again, with only the place of the null for those that are below it. */
  readonly nulls: readonly string[]
}

interface AnyError {
  readonly path?: readonly (string | number)[] | undefined
  readonly locations?: readonly { readonly line: number; readonly column: number }[] | undefined
  readonly extensions: Readonly<Record<string, unknown>>
}

function compared(data: unknown, errors: readonly AnyError[] = []): Compared {
  const textOf = ({ path, locations, extensions: { code } }: AnyError) => JSON.stringify([code, path, locations])
  const placeOf = (error: AnyError) => {
    const isOfClient = ['BAD_USER_INPUT', 'FORBIDDEN'].includes(String(error.extensions['code']))
    const place = isOfClient ? nulledPlaceOf(data, error.path ?? []) : undefined
    return place && JSON.stringify(place)
  }
  const places = new Set(errors.map(placeOf).filter((place) => place !== undefined))
  const others = errors.filter((error) => placeOf(error) === undefined).map(textOf)
  // Fields are resolved in no particular order, and neither are their errors.
  return {
    data: JSON.stringify(data) ?? 'no data',
    errors: errors.map(textOf).sort(),
    nulls: [...places, ...others].sort(),
  }
}

/** The start of a path where the data is null, if the path goes on. */
function nulledPlaceOf(data: unknown, path: readonly (string | number)[]): readonly (string | number)[] | undefined {
  let value = data
  for (const [depth, key] of path.entries()) {
    if (value === null) return path.slice(0, depth)
    value = (value as Record<string | number, unknown> | undefined)?.[key]
  }
  return undefined
}

/** What the gateway has responded. */
export function ofGateway({ data, errors }: GraphQLResponse<unknown>): Compared {
  return compared(data, errors)
}

/** What graphql-js returns. Errors of graphql-js itself are about the request. */
export function ofReference({ data, errors }: ExecutionResult): Compared {
  const coded = errors?.map(({ path, locations, extensions, originalError }) => {
    // The reference has a defect.
    if (originalError && !(originalError instanceof GraphQLError)) throw originalError
    return { path, locations, extensions: { code: extensions['code'] ?? 'BAD_USER_INPUT' } }
  })
  return compared(data, coded)
}

/**
 * What differs; undefined if nothing does. Several errors below one null are in no order, and an executor need not
 * report all of them. So these may differ, if the null is at the same place.
 *
 * @see https://spec.graphql.org/October2021/#sec-Handling-Field-Errors
 */
export function differenceOf(actual: Compared, expected: Compared): string | undefined {
  const isSame = (name: keyof Compared) => String(actual[name]) === String(expected[name])
  const names = (['data', 'errors'] as const).filter((name) => !isSame(name) && (name === 'data' || !isSame('nulls')))
  const parts = names.map((name) => describeDifference(name, String(actual[name]), String(expected[name])))
  return parts.length === 0 ? undefined : parts.join('\n')
}

const before = 100
const after = 400

/** The places where two texts differ first. */
export function describeDifference(name: string, actual: string, expected: string): string {
  let start = 0
  while (start < actual.length && actual[start] === expected[start]) start += 1
  const cut = (text: string) => {
    const [from, to] = [Math.max(0, start - before), start + after]
    return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
  }
  return `${name}\n  gateway:  ${cut(actual)}\n  expected: ${cut(expected)}`
}
