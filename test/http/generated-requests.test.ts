import fc from 'fast-check'
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
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { openApiDocument } from '../support/openapi-types.ts'
import { Choices, junk } from './choices.ts'
import { createResponseCheck } from './response-check.ts'
import { type Credentials, operationsOf, type RestOperation, restRequest } from './rest-requests.ts'

const { schema } = schemas

const document = openApiDocument()
const operations = operationsOf(document)

const runs = Number(process.env['GENERATED_REQUESTS'] ?? (process.env['TEST_ALL'] ? 1_500 : 80))
/** The requests to each operation, so that few are enough to see all its outcomes. */
const restRuns = Math.ceil(Math.max(runs, process.env['TEST_ALL'] ? 2_000 : 500) / operations.length)
/** More than the requests to one operation. */
const spareRows = restRuns + 1
/**
 * `npm test` sends the same requests each time, and `npm run test:all` others. A failing test prints the seed
 * of its requests.
 */
const seed = process.env['TEST_ALL'] ? undefined : Number(process.env['GENERATED_SEED'] ?? 14)

let app: TestApp
let mine: TestTenant
let keys: string[]
let credentials: Credentials[]
let own: Awaited<ReturnType<typeof createOneOfEach>>
let ids: string[]
let foreignValues: string[]
let takeRow: (operation: RestOperation) => string

beforeAll(async () => {
  app = await startTestApp({ introspection: false })
  const tenants = [await app.createTenant('Mine'), await app.createTenant('Theirs')] as const
  mine = tenants[0]
  own = await createOneOfEach(app, tenants[0])
  const other = await createOneOfEach(app, tenants[1])
  const idsOf = (rows: typeof own) => [rows.user.id, rows.account.id, rows.profile.id, rows.email.id, rows.job.id]
  ids = idsOf(own)
  await createUnusualRows(own.user.id)
  takeRow = await createSpareRows()
  foreignValues = [...idsOf(other), tenants[1].tenantAppId, other.user.name, other.user.email, other.email.value]
  const { tenantAppId } = mine
  const narrow = await createKey(app.database, { tenantAppId, name: 'narrow', scopes: ['users:read', 'jobs:write'] })
  keys = [mine.key, mine.key, mine.key, mine.key, narrow.key, 'fus_nonsense', '']
  credentials = keys.map((key) => ({ key, isFull: key === mine.key }))
})
afterAll(() => app.close())

/** Creates rows that each operation can delete, cancel or retry once, and returns the function that takes one. */
async function createSpareRows() {
  const { tenantAppId } = mine
  const spare: Record<string, string[]> = { 'DELETE /users/{id}': [], 'DELETE /accounts/{id}': [] }
  const { prisma } = app.database
  for (const status of ['PENDING', 'FAILED'] as const) {
    const rows = Array.from({ length: spareRows }, (_, index) => ({
      tenantAppId,
      id: `${status}_${index}`,
      jobType: 'x',
      status,
    }))
    await prisma.job.createMany({ data: rows })
    spare[`POST /fusion/jobs/{id}/${status === 'FAILED' ? 'retry' : 'cancel'}`] = rows.map(({ id }) => id)
  }
  for (const kind of ['users', 'accounts']) {
    const users = Array.from({ length: spareRows }, (_, index) => ({ tenantAppId, id: `${kind}_${index}` }))
    await prisma.user.createMany({ data: users.map((user) => ({ ...user, name: 'Spare', email: 'a@b' })) })
    const account = { platform: 'SPARE', displayName: 'Spare' }
    const accounts = users.map(({ id }) => ({ ...account, tenantAppId, id, userId: id, platformAccountId: id }))
    await prisma.account.createMany({ data: accounts })
    spare[`DELETE /${kind}/{id}`] = users.map(({ id }) => id)
  }
  return ({ name, url }: RestOperation): string => {
    if (spare[name]) return spare[name].pop() ?? 'nobody'
    if (url.startsWith('/users')) return own.user.id
    return url.startsWith('/accounts') ? own.account.id : own.job.id
  }
}

/** Creates rows with values that imports may write, and rules of requests do not allow. */
async function createUnusualRows(userId: string): Promise<void> {
  const make = factoriesFor(app, mine)
  const far = { createdAt: new Date('0001-01-01T00:00:00Z'), updatedAt: new Date('9999-12-31T23:59:59.999Z') }
  await make.user({ email: 'a@b', phone: null, ...far })
  await make.user({ email: 'no email', name: 'x'.repeat(5_000) })
  const account = await make.account(userId, { displayName: '' })
  const dateOfBirth = new Date('0001-01-01')
  const profile = await make.profile(account, { dateOfBirth, joinedAt: far.updatedAt, url: 'https://ö.de/ x' })
  await make.email(profile.id, { value: 'root@localhost', type: null })
  ids.push(account.id)
}

function anyId(choices: Choices): string {
  return choices.pick([...ids, ...foreignValues.slice(0, 5), 'nobody', 'a b', '%00', '*', 'usr_', 'x'.repeat(300)])
}

/** What no response may contain: SQL, file paths, stack traces, and messages of Prisma and of the database. */
const internals =
  /\bSELECT\b|\bINSERT INTO\b|\bUPDATE "|node_modules|\/src\/|\.ts:\d+|\n\s+at |prisma|pglite|SQLSTATE|violates|ECONN(?:REFUSED|RESET|ABORTED)/i

/** The foreign ids that were sent. An earlier request may have given one to a row of its own tenant. */
const sentIds = new Set<string>()

function expectNoInternals(body: string, sent: string): void {
  // A response may repeat names that the client has sent, but the generated requests contain none of these.
  expect(internals.exec(body)?.[0]).toBeUndefined()
  for (const value of foreignValues) if (sent.includes(value)) sentIds.add(value)
  expect(foreignValues.filter((secret) => body.includes(secret) && !sentIds.has(secret))).toEqual([])
}

const numbers = fc.array(fc.nat(10_000), { minLength: 12, maxLength: 60 })

describe('generated requests', () => {
  const check = createResponseCheck(document)

  it(`get documented responses from REST (${restRuns} requests to each of ${operations.length} operations)`, async () => {
    let sent = 0
    let promised = 0
    const sendTo = async (operation: RestOperation, operationSeed: object) => {
      const outcomes = new Set<number>()
      const property = fc.asyncProperty(numbers, async (chosen) => {
        sent += 1
        const choices = new Choices(chosen)
        const { request, mustSucceed } = restRequest(choices, operation, {
          credentials: choices.pick(credentials),
          // Of a DELETE, not the rows that the others read.
          anyId: () => (operation.method === 'DELETE' ? choices.pick([...foreignValues, 'nobody']) : anyId(choices)),
          idOf: takeRow,
          idempotencyKey: choices.rarely() ? choices.pick(['again', 'not valid', '']) : `key-${sent}`,
        })
        const response = await app.app.inject(request)
        expect(check(operation, response), JSON.stringify(request)).toEqual([])
        expect(response.statusCode).toBeLessThan(500)
        if (mustSucceed) promised += 1
        if (mustSucceed) expect(response.statusCode, JSON.stringify({ request, body: response.body })).toBeLessThan(400)
        expectNoInternals(response.body, decodeURIComponent(request.url) + String(request.payload))
        outcomes.add(Math.floor(response.statusCode / 100))
      })
      await fc.assert(property, { numRuns: restRuns, ...operationSeed })
      // No request makes a probe fail.
      const expected = operation.parameters.length > 0 ? [2, 4] : [2]
      expect([...outcomes], operation.name).toEqual(expect.arrayContaining(expected))
    }
    for (const [index, operation] of operations.entries()) {
      await sendTo(operation, seed === undefined ? {} : { seed: seed + index })
    }
    expect(promised).toBeGreaterThan(sent / 10)
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

  it(`get responses from GraphQL whose errors name only what the client sent (${runs} requests)`, async () => {
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
      { numRuns: runs, ...(seed !== undefined && { seed }) },
    )
    expect(answered).toBeGreaterThan(runs / 10)
  })
})

/** The names in what a client has sent, and those of every schema. */
function namesIn(sent: string): ReadonlySet<string> {
  return new Set(['ID', 'Int', 'Float', 'String', 'Boolean', '__typename'].concat(sent.match(/[_A-Za-z]\w*/g) ?? []))
}
