import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import {
  type GraphQLArgument,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isObjectType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { namesIn } from '../../src/engine/graphql/http/hide-names.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'
import { openApiDocument } from '../support/openapi-types.ts'

const { schema } = schemas

const runs = Number(process.env['GENERATED_REQUESTS'] ?? (process.env['TEST_ALL'] ? 1_500 : 300))

let app: TestApp
let mine: TestTenant
let keys: string[]
let ids: string[]
let foreignValues: string[]

beforeAll(async () => {
  app = await startTestApp({ introspection: false })
  const tenants = [await app.createTenant('Mine'), await app.createTenant('Theirs')] as const
  mine = tenants[0]
  const [own, other] = [await createOneOfEach(app, tenants[0]), await createOneOfEach(app, tenants[1])]
  const idsOf = (rows: typeof own) => [rows.user.id, rows.account.id, rows.profile.id, rows.email.id, rows.job.id]
  ids = idsOf(own)
  foreignValues = [...idsOf(other), tenants[1].tenantAppId, other.user.name, other.user.email, other.email.value]
  const { tenantAppId } = mine
  const narrow = await createKey(app.database, { tenantAppId, name: 'narrow', scopes: ['users:read', 'jobs:write'] })
  keys = [mine.key, mine.key, mine.key, mine.key, narrow.key, 'fus_nonsense', '']
})
afterAll(() => app.close())

/** Makes choices from numbers that fast-check generates, so that fast-check can shrink a failing request. */
class Choices {
  private at = 0
  private readonly numbers: readonly number[]
  private readonly isWild: boolean

  constructor(numbers: readonly number[]) {
    this.numbers = numbers
    this.isWild = (numbers[0] ?? 0) % 2 === 0
  }

  below(options: number): number {
    const number = this.numbers[this.at % this.numbers.length] ?? 0
    this.at += 1
    return (number + this.at) % options
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item
  }

  /** Whether to choose something unusual. Half of the requests contain nothing unusual, so that many succeed. */
  rarely(): boolean {
    return this.isWild && this.below(9) === 0
  }
}

const junk: readonly unknown[] = [
  ...[null, true, -1, 0, 1.5, 1e300, 2 ** 31, '', ' ', 'x', 'a@b.c', '\u0000', '\ud800', "'; DROP TABLE job; --", '%'],
  ...[
    [],
    {},
    [[]],
    [null],
    { id: 1 },
    'x'.repeat(400),
    '2026-01-01',
    '2026-02-30T00:00:00Z',
    '__proto__',
    '😀',
    '../..',
  ],
]

function anyId(choices: Choices): string {
  return choices.pick([...ids, ...foreignValues.slice(0, 5), 'nobody', 'a b', '%00', '', '*', 'usr_', 'x'.repeat(300)])
}

/** What no response may contain: SQL, file paths, stack traces, and messages of Prisma and of the database. */
const internals =
  /\bSELECT\b|\bINSERT INTO\b|\bUPDATE "|node_modules|\/src\/|\.ts:\d+|\n\s+at |prisma|pglite|SQLSTATE|violates|ECONN(?:REFUSED|RESET|ABORTED)/i

function expectNoInternals(body: string, sent: string): void {
  // A response may repeat names that the client has sent, but the generated requests contain none of these.
  expect(internals.exec(body)?.[0]).toBeUndefined()
  expect(foreignValues.filter((secret) => body.includes(secret) && !sent.includes(secret))).toEqual([])
}

const numbers = fc.array(fc.nat(10_000), { minLength: 12, maxLength: 60 })

describe('generated requests', () => {
  type Json = Record<string, unknown>
  const { paths } = openApiDocument() as { paths: Record<string, Record<string, Json>> }
  const operations = Object.entries(paths).flatMap(([url, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ url, method: method.toUpperCase(), operation })),
  )

  function parameterValue(choices: Choices, name: string): unknown {
    if (choices.rarely()) return choices.pick(junk)
    if (name === 'id' || /account_?ids/i.test(name)) return anyId(choices)
    if (name === 'limit') return choices.pick(['1', '500', '501', '0', 'x', '1e2'])
    if (name === 'email') return choices.pick(['a@b.c', 'nobody'])
    return choices.pick(['Ada', '+1 555 0100', choices.pick(junk)])
  }

  function restRequest(choices: Choices) {
    const { url, method, operation } = choices.pick(operations)
    const parameters = (operation['parameters'] ?? []) as { in: string; name: string }[]
    const path = url.replace(/\{(\w+)\}/g, () => encodeURIComponent(anyId(choices).toWellFormed()))
    const search = new URLSearchParams()
    for (const { in: place, name } of parameters) {
      if (place === 'query' && choices.below(2) === 0)
        search.append(name, String(parameterValue(choices, name)).toWellFormed())
    }
    if (choices.rarely()) search.append(choices.pick(['limit', 'x', 'account_ids', 'cursor']), 'x')
    const names = ['name', 'email', 'phone', 'id', 'extra']
    const object = Object.fromEntries(
      names.filter(() => choices.below(3) > 0).map((name) => [name, parameterValue(choices, name)]),
    )
    const value = choices.pick<unknown>([object, object, [anyId(choices), anyId(choices)], choices.pick(junk)])
    const text = choices.rarely() ? choices.pick(['{', '', '\u0000', '{"a":1}x', '[[[[']) : JSON.stringify(value)
    const hasBody = method === 'PUT' || method === 'POST' || choices.below(2) === 0
    const type = choices.pick(['application/json', 'application/json', 'application/json', 'text/plain', ''])
    return {
      documented: Object.keys(operation['responses'] as object),
      request: {
        method: method as 'GET' | 'HEAD',
        url: `${path}${search.size > 0 ? `?${search}` : ''}`,
        headers: { 'x-api-key': choices.pick(keys), ...(type !== '' && { 'content-type': type }) },
        ...(hasBody && { payload: text }),
      } satisfies InjectOptions,
    }
  }

  it(`get documented statuses from REST (${runs} requests)`, async () => {
    await fc.assert(
      fc.asyncProperty(numbers, async (chosen) => {
        const { documented, request } = restRequest(new Choices(chosen))
        const { statusCode, body } = await app.app.inject(request)
        expect(documented).toContain(String(statusCode))
        expect(statusCode).toBeLessThan(500)
        expectNoInternals(body, decodeURIComponent(request.url) + String(request.payload))
        if (request.method === 'HEAD') expect(body).toBe('')
        else if (statusCode >= 400)
          expect(JSON.parse(body)).toMatchObject({ status: statusCode, code: expect.any(String) })
      }),
      { numRuns: runs },
    )
  })

  function literal(choices: Choices, type: GraphQLInputType, levels: number): string {
    if (choices.rarely())
      return choices.pick(['null', '"x"', '-1', '1.5', '[]', '{}', '{ a: 1 }', 'NONE', '$v', '"""x"""', '1e400'])
    const nullable = getNullableType(type)
    if (isListType(nullable)) return `[${literal(choices, nullable.ofType, levels)}]`
    if (isEnumType(nullable)) return choices.pick(nullable.getValues()).name
    if (isInputObjectType(nullable)) {
      const fields = Object.values(nullable.getFields()).filter(
        (field) => levels > 0 && (String(field.type).endsWith('!') || choices.below(4) === 0),
      )
      return `{ ${fields.map((field) => `${field.name}: ${literal(choices, field.type, levels - 1)}`).join(', ')} }`
    }
    const samples: Record<string, () => string> = {
      ID: () => JSON.stringify(anyId(choices)),
      Int: () => choices.pick(['1', '5', '500', '501', '0']),
      SafeInt: () => choices.pick(['1', '9007199254740993']),
      Float: () => choices.pick(['0.5', '1e10']),
      Boolean: () => choices.pick(['true', 'false']),
      DateTime: () => choices.pick(['"2026-01-01T00:00:00Z"', '"0000-01-01T00:00:00Z"', '"x"']),
      Date: () => choices.pick(['"1990-05-17"', '"1990-13-01"']),
      JSONObject: () => choices.pick(['{}', '{ a: [1, "b"] }', '"x"']),
    }
    return (
      samples[getNamedType(nullable).name]?.() ??
      JSON.stringify(choices.pick(['Ada', 'a@b.c', 'YOUTUBE', '', '\u0000', '%', 'https://example.com']))
    )
  }

  function call(choices: Choices, args: readonly GraphQLArgument[]): string {
    const passed = args.filter(({ type }) => (String(type).endsWith('!') ? !choices.rarely() : choices.below(3) === 0))
    return passed.length > 0
      ? `(${passed.map(({ name, type }) => `${name}: ${literal(choices, type, 3)}`).join(', ')})`
      : ''
  }

  function selection(choices: Choices, type: GraphQLNamedType, levels: number): string {
    if (!isObjectType(type) && !isInterfaceType(type)) return ''
    const parts: string[] = ['__typename']
    for (let count = 1 + choices.below(4); count > 0; count -= 1) {
      const field = choices.pick(Object.values(type.getFields()))
      const named = getNamedType(field.type)
      if (isCompositeType(named) && levels === 0) continue
      // A field with different arguments needs an alias.
      const alias =
        field.args.length > 0 || choices.rarely() ? `a${choices.below(choices.rarely() ? 2 : 10_000)}: ` : ''
      const directive = choices.rarely() ? choices.pick([' @skip(if: true)', ' @include(if: $v)', ' @no']) : ''
      parts.push(
        `${alias}${field.name}${call(choices, field.args)}${directive} ${selection(choices, named, levels - 1)}`,
      )
    }
    if (isInterfaceType(type) && levels > 0) {
      const object = choices.pick(schema.getPossibleTypes(type))
      parts.push(`... on ${object.name} ${selection(choices, object, levels - 1)}`)
    }
    return `{ ${parts.join(' ')} }`
  }

  function graphqlRequest(choices: Choices) {
    const root = choices.pick(['query', 'query', 'query', 'mutation', 'mutation'] as const)
    const type = root === 'query' ? schema.getQueryType() : schema.getMutationType()
    const body = type ? selection(choices, type, 4) : ''
    const declared = /\$v\b/.test(body) ? choices.pick(['($v: Int)', '($v: Boolean!)', '($v: [ID!])', '']) : ''
    let query = `${root} Q${declared} ${body}`
    // Breaks the document: removes, repeats or replaces a piece.
    if (choices.rarely()) {
      const at = choices.below(query.length)
      const length = 1 + choices.below(5)
      const replacement = choices.pick([
        '',
        query.slice(at, at + length).repeat(2),
        '{',
        '}',
        '"',
        '\u0000',
        '#',
        '$',
        '...',
      ])
      query = query.slice(0, at) + replacement + query.slice(at + length)
    }
    const variables = choices.pick([
      undefined,
      {},
      { v: 1 },
      { v: true },
      { v: [anyId(choices)] },
      { v: choices.pick(junk) },
    ])
    const accept = choices.pick([
      'application/json',
      'application/graphql-response+json',
      '*/*',
      'text/event-stream',
      'text/html',
    ])
    const headers = { 'x-api-key': choices.pick(keys), accept }
    const params = { query, variables, ...(choices.rarely() && { operationName: choices.pick(['Q', 'Other']) }) }
    const sent = JSON.stringify(params)
    if (choices.below(5) > 0) {
      const payload = choices.rarely() ? choices.pick(['[]', '{', 'null', '""']) : sent
      return {
        sent,
        root,
        request: {
          method: 'POST' as const,
          url: '/graphql',
          headers: { ...headers, 'content-type': 'application/json' },
          payload,
        },
      }
    }
    const search = new URLSearchParams({
      query: query.toWellFormed(),
      ...(variables && { variables: JSON.stringify(variables) }),
    })
    return { sent, root, request: { method: 'GET' as const, url: `/graphql?${search}`, headers } }
  }

  it(`get answers from GraphQL whose errors name only what the client sent (${runs} requests)`, async () => {
    const documented = [200, 400, 401, 405, 406, 422]
    let answered = 0
    await fc.assert(
      fc.asyncProperty(numbers, async (chosen) => {
        const { sent, root, request } = graphqlRequest(new Choices(chosen))
        const { statusCode, body, headers } = await app.app.inject(request)
        expect(documented).toContain(statusCode)
        if (request.method === 'GET' && statusCode === 200 && root === 'mutation')
          expect(body).not.toMatch(/"data":\{"/)
        expectNoInternals(body, sent)
        if (!String(headers['content-type']).includes('json')) return
        const { data, errors = [] } = JSON.parse(body) as {
          data?: unknown
          errors?: { message: string; path?: unknown; extensions: { code: string } }[]
        }
        if (data) answered += 1
        const sentNames = namesIn(sent)
        for (const { message, path, extensions } of errors) {
          expect(extensions.code).not.toBe('INTERNAL')
          // An error of a resolver names only fields of the request.
          if (path !== undefined || /Only|points|key|Send|Invalid|must be|deep|aliases/.test(message)) continue
          const named = [...message.matchAll(/"([^"]*)"/g)].flatMap(
            ([, inner = '']) => inner.match(/[_A-Za-z]\w*/g) ?? [],
          )
          expect(named.filter((name) => !sentNames.has(name))).toEqual([])
        }
      }),
      { numRuns: runs },
    )
    expect(answered).toBeGreaterThan(runs / 10)
  })
})
