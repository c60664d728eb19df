import { isDeepStrictEqual } from 'node:util'
import type { Viewer } from '@fusion-gateway/auth'
import {
  createContext,
  createPreparer,
  executeOperation,
  hasScopes,
  type PreparedOperation,
} from '@fusion-gateway/gateway-kit'
import { createMetrics } from '@fusion-gateway/telemetry'
import fc from 'fast-check'
import {
  type GraphQLArgument,
  type GraphQLOutputType,
  getNamedType,
  isCompositeType,
  isInterfaceType,
  isObjectType,
  parse,
  validate,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { scopes } from '../../src/domain/scopes.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'
import { runs } from '../support/runs.ts'

const { schema } = schemas

let app: TestApp
let viewer: Viewer
let ids: string[]

beforeAll(async () => {
  app = await startTestApp()
  const tenant = await app.createTenant()
  viewer = { tenantAppId: tenant.tenantAppId, tenantName: 'T', keyId: 'k', keyName: 'k', scopes }
  const rows = [await createOneOfEach(app, tenant), await createOneOfEach(app, tenant)]
  const [first] = rows
  // Generated documents refer to these ids by index, so fast-check can repeat a document that failed.
  ids = [first?.user.id, first?.account.id, first?.profile.id, first?.email.id, first?.job.id].map((id) => id ?? '')
})
afterAll(() => app.close())

/** Chooses one of some options. Each choice uses the next number that fast-check generated. */
type Choose = (options: number) => number

function chooser(numbers: readonly number[]): Choose {
  let index = 0
  return (options) => {
    const number = numbers[index % numbers.length] ?? 0
    index += 1
    return (number + index) % options
  }
}

function pick<Item>(choose: Choose, items: readonly Item[]): Item {
  return items[choose(items.length)] as Item
}

/** A valid or invalid value for an argument, or a variable, which the document declares. */
function argument(choose: Choose, { name, type }: GraphQLArgument): string | undefined {
  const id = () => `"${pick(choose, [...ids, 'nobody', ''])}"`
  const values: Record<string, () => string> = {
    id: () => pick(choose, [id(), '$id', id()]),
    externalId: () => pick(choose, ['"ext_1"', '"nobody"', '""']),
    ids: () => `[${id()}, ${id()}, $id]`,
    accountIds: () => pick(choose, [`[${id()}]`, '$list', `[${id()}, ${id()}]`]),
    first: () => pick(choose, ['1', '2', '0', '501', '$first', 'null']),
    last: () => pick(choose, ['1', '$first']),
    after: () => pick(choose, ['"nonsense"', 'null']),
    before: () => pick(choose, ['"nonsense"', 'null']),
    filter: () => pick(choose, ['{}', 'null']),
    by: () => pick(choose, ['[PLATFORM]', '[STATUS]', '[ACCOUNTS, CREATED_DAY]', '[]']),
    metric: () => pick(choose, ['FOLLOWERS', 'WATCH_TIME']),
    interval: () => pick(choose, ['WEEK', 'MONTH']),
    days: () => pick(choose, ['3', '-1']),
    p: () => pick(choose, ['0.5', '2']),
    from: () => pick(choose, ['"2026-01-01"', '"nonsense"', 'null']),
    to: () => pick(choose, ['"2026-01-31"', 'null']),
    orderBy: () => pick(choose, ['{ field: CREATED_AT, direction: DESC }', 'null']),
    thenBy: () =>
      pick(choose, ['[{ field: UPDATED_AT, direction: ASC }]', '{ field: UPDATED_AT, direction: DESC }', 'null']),
  }
  const isRequired = String(type).endsWith('!')
  if (!isRequired && choose(3) !== 0) return undefined
  const value = values[name]?.()
  if (value === undefined) throw new Error(`No values for the argument ${name}`)
  return `${name}: ${value}`
}

interface Draft {
  readonly choose: Choose
  readonly fragments: string[]
}

function selection(draft: Draft, type: GraphQLOutputType, depth: number): string {
  const named = getNamedType(type)
  if (!isCompositeType(named)) return ''
  const { choose, fragments } = draft
  const parts: string[] = []
  const fields = isObjectType(named) || isInterfaceType(named) ? Object.values(named.getFields()) : []
  for (let count = choose(4) + 1; count > 0; count -= 1) {
    const kind = choose(10)
    if (kind === 0) parts.push(`__typename`)
    else if (kind === 1 && depth > 0) {
      const on = isInterfaceType(named) ? pick(choose, schema.getPossibleTypes(named)) : named
      parts.push(`...${pick(choose, [` on ${on.name}`, ` on ${on.name}`])} ${selection(draft, on, depth - 1)}`)
    } else if (kind === 2 && depth > 0) {
      const on = isInterfaceType(named) ? pick(choose, schema.getPossibleTypes(named)) : named
      const name = `F${fragments.length}`
      fragments.push('')
      fragments[Number(name.slice(1))] = `fragment ${name} on ${on.name} ${selection(draft, on, depth - 1)}`
      parts.push(`...${name}`)
    } else {
      const field = pick(choose, fields)
      if (isCompositeType(getNamedType(field.type)) && depth === 0) {
        parts.push('__typename')
        continue
      }
      const args = field.args.map((arg) => argument(choose, arg)).filter((text) => text !== undefined)
      const alias = pick(choose, ['', '', 'one: ', 'two: '])
      const list = args.length > 0 ? `(${args.join(', ')})` : ''
      parts.push(`${alias}${field.name}${list} ${selection(draft, field.type, depth - 1)}`)
    }
  }
  return `{ ${parts.join(' ')} }`
}

/** Generates a document with one query, which may be invalid. */
function draftDocument(numbers: readonly number[]): string {
  const draft = { choose: chooser(numbers), fragments: [] }
  const root = schema.getQueryType()
  if (!root) throw new Error('The schema has no queries')
  const body = selection(draft, root, 5)
  const text = `${body} ${draft.fragments.join(' ')}`
  const declared = ['$id: ID! = "nobody"', '$list: [ID!]!', '$first: Int'].filter((declaration) =>
    new RegExp(`\\${declaration.split(':')[0]}\\b`).test(text),
  )
  return `query Q${declared.length > 0 ? `(${declared.join(', ')})` : ''} ${text}`
}

const silentLog = { error: () => undefined, warn: () => undefined }

const preparer = createPreparer({ schemas, introspection: true, metrics: createMetrics() })

/** Prepares and compiles an operation. Returns undefined if the gateway does not compile it. */
function prepare(text: string): PreparedOperation | undefined {
  const { operation } = preparer.prepare(text)
  operation?.compiled()
  return operation?.compiled() && operation
}

/** Executes an operation with graphql-js and with graphql-jit. */
async function executeBoth(text: string, variables: Record<string, unknown>, granted: readonly string[] = scopes) {
  const compiled = prepare(text)
  if (!compiled || compiled.coerce(variables).errors) return undefined
  // An operation is not compiled for a viewer who lacks one of its scopes.
  const client = { ...viewer, scopes: hasScopes({ ...viewer, scopes: granted }, compiled) ? granted : scopes }
  const responses: GatewayResponse[] = []
  for (const operation of [{ ...compiled, compiled: () => undefined }, compiled]) {
    const context = createContext(app.services, { viewer: client, log: silentLog, statements: { statements: 0 } })
    responses.push(JSON.parse(JSON.stringify(await executeOperation({ operation, variables, context }))))
  }
  const [expected, actual] = responses as [GatewayResponse, GatewayResponse]
  return [
    expected,
    { ...actual, ...(actual.errors && { errors: alignErrors(actual, expected.errors ?? []) }) },
  ] as const
}

interface GatewayResponse {
  readonly data?: unknown
  readonly errors?: readonly { readonly path?: readonly (string | number)[] }[]
}

/**
 * Sorts errors into the order of graphql-js, because the order in which resolvers end is undefined. When an error in a
 * non-null field removes its parent, graphql-js may omit other errors within that parent. Such additional errors of the
 * compiled operation are removed.
 */
function alignErrors({ data, errors = [] }: GatewayResponse, expected: NonNullable<GatewayResponse['errors']>) {
  const isExpected = (error: object) => expected.some((other) => isDeepStrictEqual(other, error))
  const shared = expected.filter((other) => errors.some((error) => isDeepStrictEqual(other, error)))
  const others = errors.filter((error) => !isExpected(error))
  return [...shared, ...others.filter(({ path = [] }) => !isWithinNull(data, path))]
}

function isWithinNull(data: unknown, path: readonly (string | number)[]): boolean {
  let value = data
  for (const key of path) {
    if (value === null) return true
    value = (value as Record<string | number, unknown>)[key]
  }
  return false
}

describe('a compiled operation returns the same data and errors as graphql-js', () => {
  it('for generated queries', async () => {
    // Each run compares a valid operation. About four of five drafts are not valid, and are not counted.
    const count = Number(process.env['COMPILED_RUNS'] ?? runs(450, 6))
    const variables = fc.record({
      // Variables of the wrong type reach neither executor, because coercion rejects them first.
      id: fc.constantFrom(undefined, 0, 1, 2, 3, 4, 1.5),
      first: fc.constantFrom(undefined, null, 1, 0, 2, 501),
      list: fc.constantFrom([], 1, [1], [1, 2], ['x']),
      granted: fc.constantFrom(scopes, scopes, ['users:read'], ['profiles:read', 'jobs:read']),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(1_000), { minLength: 5, maxLength: 40 }),
        variables,
        async (numbers, { granted, ...chosen }) => {
          const text = draftDocument(numbers)
          fc.pre(validate(schema, parse(text)).length === 0)
          const toId = (value: unknown): unknown =>
            Array.isArray(value) ? value.map(toId) : (ids[value as number] ?? value)
          const entries = Object.entries({ ...chosen, id: toId(chosen.id), list: toId(chosen.list) })
          const present = entries.filter(([, value]) => value !== undefined)
          const responses = await executeBoth(text, Object.fromEntries(present), granted)
          fc.pre(responses !== undefined)
          expect(responses[1]).toEqual(responses[0])
        },
      ),
      { numRuns: count },
    )
  })

  it.each([
    ['it has non-null fields', '{ viewer { tenantApp { id } } users { nodes { accounts { user { id } } } } }'],
    ['a viewer lacks its scopes', '{ users { nodes { id } } viewer { scopes } }'],
    ['a viewer lacks the scopes below node', '{ node(id: "usr_x") { id } jobs { nodes { id } } }'],
    [
      'its mutations run in sequence',
      'mutation { one: createUser(input: { name: "a", email: "a@b", phone: "1" }) { user { name } userErrors { code } } two: createUser(input: { name: "", email: "", phone: "" }) { user { id } userErrors { code field } } }',
    ],
    ['it counts a list', '{ users(first: 1) { nodes { id } totalCount } }'],
  ])('when %s', async (_, text) => {
    for (const granted of [scopes, ['jobs:read'], []]) {
      const responses = await executeBoth(text, {}, granted)
      expect(responses?.[1]).toEqual(responses?.[0] ?? 'a response')
    }
  })
})

it('an operation with directives, variables inside values, or too many fields is not compiled', () => {
  expect(prepare('query ($a: Boolean!) { viewer { keyName @include(if: $a) } }')).toBeUndefined()
  // graphql-jit does not check variables inside values, and ignores variables inside JSON.
  expect(prepare('query ($a: ID!) { nodes(ids: [$a]) { id } }')).toBeUndefined()
  expect(prepare('query ($a: String = "x") { users(filter: { email: $a }) { totalCount } }')).toBeUndefined()
  const create = (payload: string) =>
    `mutation ($a: JSONObject) { createJob(input: { jobType: "x", payload: ${payload} }) { job { id } } }`
  expect(prepare(create('{ a: 1 }'))).toBeUndefined()
  expect(
    prepare('query ($a: UserFilter, $o: [ID!]!) { users(filter: $a) { totalCount } nodes(ids: $o) { id } }'),
  ).toBeDefined()
  expect(
    prepare('{ users(filter: { email: "a" }, orderBy: { field: CREATED_AT, direction: DESC }) { totalCount } }'),
  ).toBeDefined()
  const many = Array.from({ length: 600 }, () => 'a: keyName').join(' ')
  expect(prepare(`{ viewer { ${many} } b: viewer { ${many} } }`)).toBeUndefined()
  expect(prepare('{ viewer { keyName } }')).toBeDefined()
})
