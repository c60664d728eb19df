import {
  type GraphQLInputType,
  getNullableType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
} from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { fieldsOf, operationOf } from '../support/operations.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const listOf = (length: number, entry: unknown) => Array.from({ length }, () => entry)

/** The lists that the arguments of root fields are or have, with the type of their entries: `users filter.ids`. */
function listsOfSchema() {
  const listsIn = (
    type: GraphQLInputType,
    path: readonly string[],
  ): (readonly [readonly string[], GraphQLInputType])[] => {
    const nullable = getNullableType(type)
    if (isListType(nullable)) return [[path, getNullableType(nullable.ofType)]]
    if (!isInputObjectType(nullable) || path.length > 1) return []
    return Object.values(nullable.getFields()).flatMap((field) => listsIn(field.type, [...path, field.name]))
  }
  return (['Query', 'Mutation'] as const).flatMap((kind) =>
    fieldsOf(kind).flatMap((field) =>
      field.args
        .flatMap((arg) => listsIn(arg.type, [arg.name]))
        .map(([path, entry]) => [`${field.name} ${path.join('.')}`, kind, field, path, entry] as const),
    ),
  )
}

/** The variables of an operation with a list of this length: copies of its first entry, without optional fields. */
function withList(
  variables: Values,
  [name = '', ...rest]: readonly string[],
  type: GraphQLInputType,
  length: number,
): Values {
  const value = variables[name] ?? (rest.length > 0 ? {} : [{}])
  // The query of a webhook is checked before its other fields.
  if (rest.length > 0)
    return { ...variables, [name]: { ...withList(value as Values, rest, type, length), query: undefined } }
  const [entry] = value as readonly object[]
  const required = isInputObjectType(type)
    ? Object.fromEntries(Object.entries(entry ?? {}).filter(([key]) => isNonNullType(type.getFields()[key]?.type)))
    : isScalarType(type) && type.name === 'JSONObject'
      ? {}
      : entry
  return { ...variables, [name]: listOf(length, required) }
}

type Values = Readonly<Record<string, unknown>>
type Refusal = Record<string, { readonly userErrors: unknown } | null>

it.each(listsOfSchema())('a list has one bound, however long it is: %s', async (_, kind, field, path, type) => {
  const { query, variables } = operationOf(kind.toLowerCase(), field, { userId: 'u', accountId: 'a', jobId: 'j' })
  const refusalOf = async (length: number) => {
    const sent = withList(variables, path, type, length)
    const { data, errors } = await app.graphql<Refusal>(tenant, query, sent)
    return errors ? errors.map(({ message }) => message) : data?.[field.name]?.userErrors
  }
  const [refusal, ofMore] = [await refusalOf(501), await refusalOf(1_001)]
  expect(ofMore).toEqual(refusal)
  // An order by a field that comes a second time has no effect.
  if (path.at(-1) !== 'thenBy') expect(JSON.stringify(refusal)).toMatch(/must have at most (20|50|100|500) /)
})

it('a list of REST has one bound too, and a response has at most 50 errors', async () => {
  const account = '/accounts/missing/profile'
  for (const [length, more] of [
    [501, 1_001],
    [101, 1_001],
  ] as const) {
    const read = async (count: number) =>
      (await app.rest(tenant, 'GET', '/fusion/profiles', listOf(count, 'id'))).json()
    const emails = async (count: number) =>
      (await app.rest(tenant, 'PUT', account, { emails: listOf(count, { value: 'a@b' }) })).json()
    const send = length === 501 ? read : emails
    expect((await send(more)).errors).toEqual((await send(length)).errors)
    expect((await send(more)).errors[0].message).toBe(`must have at most ${length - 1} entries`)
  }
  const wrong = await app.rest(tenant, 'PUT', account, { emails: listOf(5_000, {}) })
  expect([wrong.statusCode, wrong.json().errors.length]).toEqual([422, 50])
})
