import { readFileSync } from 'node:fs'
import path from 'node:path'
import { metadataOf } from '@fusion-gateway/pothos-trees'
import {
  getNamedType,
  isCompositeType,
  isInterfaceType,
  isNullableType,
  isObjectType,
  Kind,
  parse,
  printSchema,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { scopes } from '../../src/domain/scopes.ts'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { projectRoot } from '../support/docs.ts'
import { addressOf, settleEvents, subscribe } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { bodyOf, idFor, jobStatusFor, searchFor } from '../support/route-requests.ts'

const { schema, executable: executableSchema, guarded: guardedSchema } = schemas

const fields = Object.values(schema.getTypeMap())
  .filter((type) => (isObjectType(type) || isInterfaceType(type)) && !type.name.startsWith('__'))
  .flatMap((type) => {
    const own = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : []
    return own.map((field) => ({ name: `${type.name}.${field.name}`, type: type.name, field }))
  })

const scopeOf = (field: (typeof fields)[number]['field']) => metadataOf(field).scope

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
})
afterAll(() => app.close())

/** Creates a key with exactly these scopes. */
async function keyFor(granted: readonly string[]): Promise<TestTenant> {
  const { tenantAppId, name } = tenant
  const { key, row } = await createKey(app.database, { tenantAppId, name: granted.join(), scopes: granted })
  return { tenantAppId, name, key, keyId: row.id }
}

describe('a field', () => {
  it.each(fields)('declares its scope and names it in its description: $name', ({ field }) => {
    expect([...scopes, 'inherited']).toContain(scopeOf(field))
    if (scopeOf(field) !== 'inherited') expect(field.description).toContain(`\`${scopeOf(field)}\``)
  })

  it('of a root type needs a scope, except for node, nodes and viewer', () => {
    const open = fields.filter(
      ({ type, field }) => /^(Query|Mutation|Subscription)$/.test(type) && scopeOf(field) === 'inherited',
    )
    expect(open.map(({ name }) => name)).toEqual(['Query.node', 'Query.nodes', 'Query.viewer'])
  })

  it('that identifies a person needs contacts:read', () => {
    const guarded = fields.filter(({ field }) => scopeOf(field) === 'contacts:read').map(({ name }) => name)
    expect(guarded.toSorted()).toEqual([
      'Profile.addresses',
      'Profile.dateOfBirth',
      'Profile.emails',
      'Profile.phoneNumbers',
      'Query.emailRecord',
      'User.email',
      'User.phone',
    ])
  })
})

describe('a field whose scope the key lacks', () => {
  /** A selection that reaches each type and needs no scopes other than those of the type. */
  const selections: Record<string, string> = {
    User: 'node(id: $user) { ... on User { FIELD } }',
    Account: 'node(id: $account) { ... on Account { FIELD } }',
    Profile: 'node(id: $profile) { ... on Profile { FIELD } }',
    EmailRecord: 'node(id: $email) { ... on EmailRecord { FIELD } }',
    Job: 'node(id: $job) { ... on Job { FIELD } }',
  }
  const needed: Record<string, string> = {
    User: 'users:read',
    Account: 'users:read',
    Profile: 'profiles:read',
    EmailRecord: 'contacts:read',
    Job: 'jobs:read',
  }
  const guarded = fields.filter(({ type, field }) => selections[type] && scopeOf(field) !== 'inherited')

  it.each(guarded)(
    'is null with the error FORBIDDEN, and the other fields are returned: $name',
    async ({ type, field }) => {
      const selected = isCompositeType(getNamedType(field.type)) ? `${field.name} { __typename }` : field.name
      const selection = (selections[type] ?? '').replace('FIELD', selected)
      const variable = /\$\w+/.exec(selection)?.[0] ?? ''
      const query = `query (${variable}: ID!) { ${selection} viewer { keyName } }`
      const ids = { user: rows.user.id, account: rows.account.id, profile: rows.profile.id }
      const variables = { [variable.slice(1)]: { ...ids, email: rows.email.id, job: rows.job.id }[variable.slice(1)] }
      const ownScope = scopeOf(field) ?? ''
      const others = scopes.filter((scope) => scope !== ownScope)
      if (needed[type] === ownScope) return
      const refused = await app.graphql(await keyFor(others), query, variables)
      expect(refused.errors).toMatchObject([{ path: ['node', field.name], extensions: { code: 'FORBIDDEN' } }])
      expect(refused.errors?.[0]?.message).toBe(`This needs the scope ${ownScope}.`)
      expect(refused.data['viewer']).toEqual({ keyName: others.join() })
      const allowed = await app.graphql(await keyFor([ownScope, needed[type] ?? '']), query, variables)
      expect(allowed.errors).toBeUndefined()
    },
  )

  it.each(Object.entries(needed))('is FORBIDDEN if it is a node: the type %s needs %s', async (type, scope) => {
    const id = { ...rows, User: rows.user.id, Account: rows.account.id, Profile: rows.profile.id }
    const ids: Record<string, string> = { ...id, EmailRecord: rows.email.id, Job: rows.job.id } as never
    const query = 'query ($id: ID!) { node(id: $id) { id __typename } }'
    const others = scopes.filter((one) => one !== scope)
    const refused = await app.graphql(await keyFor(others), query, { id: ids[type] })
    expect(refused.errors).toMatchObject([{ path: ['node'], extensions: { code: 'FORBIDDEN' } }])
    const allowed = await app.graphql(await keyFor([scope]), query, { id: ids[type] })
    expect(allowed.data['node']).toEqual({ id: ids[type], __typename: type })
  })

  it('is null in every row, with an error at each path', async () => {
    const other = await app.createTenant()
    const create = factoriesFor(app, other)
    for (const number of [1, 2, 3]) {
      const { id } = await create.user({ id: `usr_${number}`, name: `User ${number}` })
      const account = await create.account(id, { platformAccountId: id })
      await create.email((await create.profile(account)).id)
    }
    const { tenantAppId } = other
    const few = { tenantAppId, name: 'few', scopes: ['users:read', 'profiles:read'] }
    const { key } = await createKey(app.database, few)
    const query = `{ users { nodes { name email phone accounts { profile { platform emails { value } phoneNumbers addresses } } } }
      again: users(first: 2) { nodes { mail: email } } }`
    const profile = { platform: expect.any(String), emails: null, phoneNumbers: null, addresses: null }
    const user = (number: number) => ({ name: `User ${number}`, email: null, phone: null, accounts: [{ profile }] })
    const pathsOf = (row: number) => [
      ...['email', 'phone'].map((name) => ['users', 'nodes', row, name]),
      ...['emails', 'phoneNumbers', 'addresses'].map((name) => ['users', 'nodes', row, 'accounts', 0, 'profile', name]),
    ]
    const paths = [0, 1, 2].flatMap(pathsOf).concat([0, 1].map((row) => ['again', 'nodes', row, 'mail']))
    const texts = (list: unknown) => (list as unknown[]).map((path) => JSON.stringify(path)).toSorted()
    for (const _time of [1, 2, 3]) {
      const { data, errors = [] } = await app.graphql({ ...other, key }, query)
      expect(data).toEqual({
        users: { nodes: [user(1), user(2), user(3)] },
        again: { nodes: [{ mail: null }, { mail: null }] },
      })
      expect(texts(errors.map(({ path }) => path))).toEqual(texts(paths))
      // All else of an error is that of its field in the first row.
      const byField = Map.groupBy(errors, ({ path }) => path?.at(-1))
      for (const of of byField.values()) for (const error of of) expect(error).toEqual({ ...of[0], path: error.path })
      expect(errors[0]).toMatchObject({ locations: [{ line: 1 }], extensions: { code: 'FORBIDDEN' } })
    }
  })

  it('has an error at each path in each event of a subscription', async () => {
    const { tenantAppId } = tenant
    const { key } = await createKey(app.database, {
      tenantAppId,
      name: 'events',
      scopes: ['users:read', 'events:read'],
    })
    const query = `subscription { user(id: "${rows.user.id}") { email accounts { profile { id } } } }`
    const events = await subscribe(await addressOf(app), key, query)
    const first = (await events.next())?.data as { data: unknown; errors: { path: unknown }[] } | undefined
    events.close()
    expect(first?.data).toEqual({ user: { email: null, accounts: [{ profile: null }] } })
    expect(first?.errors.map(({ path }) => path)).toEqual([
      ['user', 'email'],
      ['user', 'accounts', 0, 'profile'],
    ])
  })

  it('costs points for the length of its errors, and has none after 2,000 repeated ones', async () => {
    const other = await app.createTenant()
    const { tenantAppId } = other
    const row = { tenantAppId, name: 'n', email: 'e', phone: '' }
    await app.database.prisma.user.createMany({
      data: Array.from({ length: 500 }, (_, index) => ({ ...row, id: `usr_${index}` })),
    })
    const { key } = await createKey(app.database, { tenantAppId, name: 'few', scopes: ['users:read'] })
    const post = (query: string) =>
      app.app.inject({ method: 'POST', url: '/graphql', headers: { 'x-api-key': key }, payload: { query } })
    const one = await post('{ users(first: 500) { nodes { email } } }')
    expect(one.json().errors).toHaveLength(500)
    expect(Number(one.headers['x-cost-requested'])).toBe(500)
    const aliases = Array.from({ length: 50 }, (_, index) => `a${index}: email`).join(' ')
    const many = await post(`{ users(first: 200) { nodes { ${aliases} } } }`)
    expect(many.json().errors).toHaveLength(50 + 2_000)
    expect(Number(many.headers['x-cost'])).toBeGreaterThan(250)
    const { nodes } = many.json().data.users as { nodes: object[] }
    expect(nodes.flatMap((node) => Object.values(node))).toEqual(Array.from({ length: 200 * 50 }, () => null))
  })

  it('throws once for all entries of a list and all events whose types the key may not read', async () => {
    const other = await app.createTenant()
    const user = await factoriesFor(app, other).user()
    const { tenantAppId } = other
    const { key } = await createKey(app.database, { tenantAppId, name: 'few', scopes: ['events:read'] })
    const post = async (query: string, variables = {}) => {
      const payload = { query, variables }
      const sent = { method: 'POST', url: '/graphql', headers: { 'x-api-key': key }, payload } as const
      return (await app.app.inject(sent)).json()
    }
    const ids = Array.from({ length: 500 }, (_, index) => `${index % 2 === 0 ? 'usr' : 'job'}_${index}`)
    const aliases = Array.from({ length: 6 }, (_, index) => `a${index}: nodes(ids: $ids) { id }`).join(' ')
    const many = await post(`query ($ids: [ID!]!) { ${aliases} }`, { ids })
    // Two scopes of six fields are thrown; the further 2,988 are repeated up to the bound.
    expect(many.errors).toHaveLength(2 * 6 + 2_000)
    expect(many.data.a5).toEqual(Array.from({ length: 500 }, () => null))
    const few = await post(`{ nodes(ids: ["job_1", "${user.id}", "job_2", "job_3"]) { id } }`)
    const messages = few.errors.map(({ path, message }: { path: unknown[]; message: string }) => [path[1], message])
    expect(messages.toSorted()).toEqual([
      [0, 'This needs the scope jobs:read.'],
      [1, 'This needs the scope users:read.'],
      [2, 'This needs the scope jobs:read.'],
      [3, 'This needs the scope jobs:read.'],
    ])
    await factoriesFor(app, other).account(user.id)
    await settleEvents(app)
    const events = await post('{ events { nodes { a: node { id } b: node { id } } } }')
    const { nodes } = events.data.events
    expect(nodes).toEqual([
      { a: null, b: null },
      { a: null, b: null },
    ])
    expect(new Set(events.errors.map(({ path }: { path: unknown[] }) => path.slice(-2).join()))).toEqual(
      new Set(['0,a', '0,b', '1,a', '1,b']),
    )
  })

  it('is null if it is a field of Query, and the other fields are returned', async () => {
    const query = `{ users { nodes { id } } jobs { nodes { id } } tenantStats { users } profiles(accountIds: ["${rows.account.id}"]) { id } }`
    const key = await keyFor(['jobs:read'])
    for (const _time of [1, 2, 3]) {
      const { data, errors } = await app.graphql(key, query)
      expect(data).toEqual({ users: null, jobs: { nodes: [{ id: rows.job.id }] }, tenantStats: null, profiles: null })
      const forbidden = (name: string) => ({ path: [name], extensions: { code: 'FORBIDDEN' } })
      expect(errors).toMatchObject(['users', 'tenantStats', 'profiles'].map(forbidden))
    }
  })

  it('is nullable if it is a field of Query', () => {
    const ofQuery = fields.filter(({ type }) => type === 'Query')
    expect(ofQuery).toHaveLength(24)
    for (const { name, field } of ofQuery) expect([name, isNullableType(field.type)]).toEqual([name, true])
  })

  it('is null only by an error, which the schema says: fields of Query that are not null otherwise, and withheld ones', () => {
    const schema = readFileSync(path.join(projectRoot, 'schema.graphql'), 'utf8')
    // The definition of nullability v0.4.
    expect(schema).toContain('levels: [Int!]! = [0]')
    const marked = parse(schema).definitions.flatMap((type) =>
      type.kind !== Kind.OBJECT_TYPE_DEFINITION
        ? []
        : (type.fields ?? [])
            .filter(({ directives = [] }) => directives.some(({ name }) => name.value === 'semanticNonNull'))
            .map((field) => `${type.name.value}.${field.name.value}`),
    )
    const declared = fields.filter(({ field }) => metadataOf(field).isNullByError).map(({ name }) => name)
    expect(marked.toSorted()).toEqual(declared.toSorted())
    // These are null if there is no such row.
    const byId = ['account', 'apiKey', 'emailRecord', 'job', 'node', 'profile', 'user', 'userByExternalId', 'webhook']
    const mayBeNull = byId.map((name) => `Query.${name}`)
    const ofQuery = fields.filter(({ type }) => type === 'Query').map(({ name }) => name)
    expect(ofQuery.filter((name) => !declared.includes(name)).toSorted()).toEqual(mayBeNull)
    expect(declared.filter((name) => !name.startsWith('Query.')).toSorted()).toEqual([
      'Profile.addresses',
      'Profile.emails',
      'Profile.phoneNumbers',
      'ProfileStats.statuses',
      'TenantStats.jobsByStatus',
      'User.email',
    ])
  })

  it('is nullable if it needs contacts:read', () => {
    const needing = fields.filter(({ field }) => scopeOf(field) === 'contacts:read')
    for (const { name, field } of needing) expect([name, isNullableType(field.type)]).toEqual([name, true])
  })

  it('is FORBIDDEN in an operation that was prepared and compiled for a key with the scope', async () => {
    const query = 'query Prepared { users { nodes { id } } }'
    for (const _time of [1, 2, 3]) expect((await app.graphql(tenant, query)).errors).toBeUndefined()
    const refused = await app.graphql(await keyFor(['jobs:read']), query)
    expect(refused.errors).toMatchObject([{ path: ['users'], extensions: { code: 'FORBIDDEN' } }])
  })

  it('is FORBIDDEN in a fragment', async () => {
    const key = await keyFor(['users:read'])
    const query = 'fragment Contact on User { phone } query { users { nodes { ...Contact } } }'
    expect((await app.graphql(key, query)).errors).toMatchObject([{ path: ['users', 'nodes', 0, 'phone'] }])
  })

  it('does not prevent the mutation that returns it', async () => {
    const key = await keyFor(['users:write'])
    const create = (selected: string) =>
      `mutation { createUser(input: { name: "New", email: "new@example.com", phone: "1" }) { user { ${selected} } userErrors { code } } }`
    const response = await app.graphql<{ createUser: { user: { id: string } } }>(key, create('id name phone'))
    expect(response.data.createUser.user).toMatchObject({ name: 'New', phone: null })
    expect(response.errors).toMatchObject([{ path: ['createUser', 'user', 'phone'] }])
    expect((await app.graphql(key, create('id name'))).errors).toBeUndefined()
  })
})

describe('a key without the scope learns nothing from', () => {
  it('a mutation without a change', async () => {
    const writer = await keyFor(['users:write', 'jobs:write', 'contacts:read'])
    const changes: [string, Record<string, unknown>][] = [
      ['mutation ($id: ID!) { updateUser(input: { id: $id }) { user { name } } }', { id: rows.user.id }],
      [
        'mutation ($id: ID!) { updateAccount(input: { id: $id }) { account { displayName } } }',
        { id: rows.account.id },
      ],
      [
        'mutation ($id: ID!) { syncProfile(input: { accountId: $id }) { profile { fullName } } }',
        { id: rows.account.id },
      ],
      ['mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { payload } } }', { id: rows.job.id }],
    ]
    for (const [mutation, variables] of changes) {
      const { data, errors } = await app.graphql(writer, mutation, variables)
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
      expect(JSON.stringify(data)).toMatch(/^\{"\w+":\{"\w+":null\}\}$/)
    }
  })

  it('a filter', async () => {
    const query = 'query ($email: String) { users(filter: { email: $email }) { totalCount nodes { id } } }'
    const { data, errors } = await app.graphql(await keyFor(['users:read']), query, { email: rows.user.email })
    expect(data).toEqual({ users: null })
    expect(errors).toMatchObject([{ path: ['users'], extensions: { code: 'FORBIDDEN' } }])
    const allowed = await app.graphql(await keyFor(['users:read', 'contacts:read']), query, { email: rows.user.email })
    expect(allowed.data).toMatchObject({ users: { totalCount: 1 } })
  })

  it('the rejection of an id, which is the same for a missing id', async () => {
    const query = 'query ($id: ID!) { node(id: $id) { id } }'
    const key = await keyFor(['jobs:write', 'jobs:read'])
    const statements = await app.statementsOf(async () => {
      const existing = await app.graphql(key, query, { id: rows.user.id })
      expect(existing).toEqual(await app.graphql(key, query, { id: 'usr_nobody' }))
      expect(existing.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    })
    expect(statements).toEqual([])
    await factoriesFor(app, tenant).user({ id: 'of elsewhere' })
    expect(await app.graphql(key, query, { id: 'of elsewhere' })).toEqual(
      await app.graphql(key, query, { id: 'nobody' }),
    )
  })
})

describe('a REST route', () => {
  const needs: Record<string, string[]> = {
    'POST /users': ['users:write', 'contacts:read'],
    'GET /users': ['users:read', 'contacts:read'],
    'GET /users/:id': ['users:read', 'contacts:read'],
    'PUT /users/:id': ['users:write', 'users:read', 'contacts:read'],
    'DELETE /users/:id': ['users:write'],
    'GET /users/:id/accounts': ['users:read'],
    'POST /users/:id/accounts': ['users:write'],
    'GET /accounts/:id': ['users:read'],
    'DELETE /accounts/:id': ['users:write'],
    'GET /fusion/profiles': ['profiles:read', 'contacts:read'],
    'POST /fusion/profiles': ['profiles:read', 'contacts:read'],
    'GET /accounts/:id/profile': ['users:read', 'profiles:read', 'contacts:read'],
    'PUT /accounts/:id/profile': ['users:write', 'profiles:read', 'contacts:read'],
    'POST /fusion/jobs': ['jobs:write'],
    'GET /fusion/jobs': ['jobs:read'],
    'GET /fusion/jobs/:id': ['jobs:read'],
    'GET /accounts/:id/profile/history': ['users:read', 'profiles:read'],
    'POST /fusion/jobs/:id/cancel': ['jobs:write', 'jobs:read'],
    'POST /fusion/jobs/:id/retry': ['jobs:write', 'jobs:read'],
  }

  it.each(routes.map((route) => [`${route.method} ${route.url}`, route] as const))(
    'returns 403 and sends no statement for a key that lacks one of its scopes: %s',
    async (name, route) => {
      const { method, url } = route
      // Some routes delete their rows.
      const of = await createOneOfEach(app, tenant, { status: jobStatusFor(route) })
      const path = url.replace(':id', idFor(route, of))
      const body = bodyOf(route)
      const search = searchFor(route, of)
      const own = needs[name] ?? []
      const allowed = await app.rest(await keyFor(own), method, path + search, body)
      expect(allowed.statusCode).toBeLessThan(300)
      for (const lacking of own) {
        const key = await keyFor(scopes.filter((scope) => scope !== lacking))
        const statements = await app.statementsOf(async () => {
          const refused = await app.rest(key, method, path + search, body)
          expect(refused.statusCode).toBe(403)
          expect(refused.json()).toMatchObject({ code: 'FORBIDDEN', detail: `This needs the scope ${lacking}.` })
        })
        expect(statements).toEqual([])
      }
    },
  )
})

it('the guarded schema prints the same as the executable schema', () => {
  expect(printSchema(guardedSchema)).toBe(printSchema(executableSchema))
})
