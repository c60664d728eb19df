import { composeServices } from '@theguild/federation-composition'
import { buildSchema, type GraphQLSchema, isObjectType, Kind, parse, specifiedDirectives, visit } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'

// The rows of Apollo's table of subgraph libraries, as docs/recipes/federation.md lists them: what this subgraph has,
// what other subgraphs can do with its types, and what it has no use for.
// https://github.com/apollographql/apollo-federation-subgraph-compatibility

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>
let sdl: string

beforeAll(async () => {
  app = await startTestApp({ federation: true })
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
  const { data } = await app.graphql<{ _service: { sdl: string } }>(tenant, '{ _service { sdl } }')
  sdl = data._service.sdl
})
afterAll(() => app.close())

/** The entities of references, with the fields that a document selects of them. */
async function entities(selection: string, ...representations: object[]) {
  const { data, errors } = await app.graphql<{ _entities: unknown[] }>(
    tenant,
    `query ($representations: [_Any!]!) { _entities(representations: $representations) { __typename ${selection} } }`,
    { representations },
  )
  expect(errors).toBeUndefined()
  return data._entities
}

/** The subgraph of another team: what it has besides the link, and the directives that it imports. */
const teamWith = (text: string, ...directives: string[]) => `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ${JSON.stringify(['@key', ...directives])})
  type Query { orders: [Order!]! }
  ${text}
`

/** Composes this subgraph with that of another team. */
function compose(team: string, own = sdl) {
  const services = [
    { name: 'fusion', typeDefs: parse(own), url: 'http://fusion' },
    { name: 'orders', typeDefs: parse(team), url: 'http://orders' },
  ]
  const { errors = [], supergraphSdl = '', publicSdl } = composeServices(services)
  return { codes: errors.map(({ extensions }) => extensions?.['code']), supergraphSdl, publicSdl }
}

/** What clients of the router see. */
function apiOf({ codes, publicSdl }: ReturnType<typeof compose>): GraphQLSchema {
  expect(codes).toEqual([])
  return buildSchema(publicSdl ?? '', { assumeValidSDL: true })
}

/** The names of the fields of a type. */
function fieldsOf(api: GraphQLSchema, typename: string): string[] {
  const type = api.getType(typename)
  return isObjectType(type) ? Object.keys(type.getFields()) : []
}

describe('the subgraph has', () => {
  it('_service', () => {
    expect(parse(sdl).definitions.some((one) => one.kind === Kind.OBJECT_TYPE_DEFINITION)).toBe(true)
    // The composition knows these, and no client gets them.
    for (const name of ['_service', '_entities', '_Any', '_Entity', '_Service']) expect(sdl).not.toContain(name)
  })

  it('@link: each directive of Federation in its text is imported, and no other', () => {
    const used = new Set<string>()
    const defined = new Set(specifiedDirectives.map(({ name }) => name))
    visit(parse(sdl), {
      Directive: ({ name }) => void used.add(name.value),
      DirectiveDefinition: ({ name }) => void defined.add(name.value),
    })
    const [, list = ''] = /^extend schema\s+@link\(url: "[^"]+", import: \[([^\]]+)\]\)$/m.exec(sdl) ?? []
    const imported = list.split(', ').map((name) => name.slice(2, -1))
    expect([...used].filter((name) => !defined.has(name)).sort()).toEqual([...imported, 'link'].sort())
  })

  it('@key (single)', async () => {
    const { user } = rows
    expect(await entities('... on User { name }', { __typename: 'User', id: user.id })).toEqual([
      { __typename: 'User', name: user.name },
    ])
  })

  it('@key (multi)', async () => {
    const { platform, platformAccountId, displayName } = rows.account
    const reference = { __typename: 'Account', platform, platformAccountId }
    expect(await entities('... on Account { displayName }', reference)).toEqual([
      { __typename: 'Account', displayName },
    ])
  })

  it('repeatable @key', async () => {
    const { id, platform, platformAccountId } = rows.account
    const references = [
      { __typename: 'Account', id },
      { __typename: 'Account', platform, platformAccountId },
    ]
    expect(await entities('... on Account { id }', ...references)).toEqual([
      { __typename: 'Account', id },
      { __typename: 'Account', id },
    ])
    const type = parse(sdl).definitions.find(
      (one) => one.kind === Kind.OBJECT_TYPE_DEFINITION && one.name.value === 'Account',
    )
    const names = type?.kind === Kind.OBJECT_TYPE_DEFINITION ? type.directives?.map(({ name }) => name.value) : []
    expect(names).toEqual(['key', 'key'])
  })

  it('@shareable', () => {
    const page =
      'type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }'
    const order = 'type Order @key(fields: "id") { id: ID! page: PageInfo! }'
    const shared = compose(teamWith(order + page.replace('{', '@shareable {'), '@shareable'))
    expect(fieldsOf(apiOf(shared), 'Order')).toEqual(['id', 'page'])
    expect(compose(teamWith(order + page)).codes).toContain('INVALID_FIELD_SHARING')
  })
})

describe('other subgraphs can use', () => {
  it('@external and @requires', () => {
    const team = teamWith(
      `type Order @key(fields: "id") { id: ID! buyer: User! }
       type User @key(fields: "id") { id: ID! name: String! @external greeting: String! @requires(fields: "name") }`,
      '@external',
      '@requires',
    )
    const result = compose(team)
    expect(fieldsOf(apiOf(result), 'User')).toContain('greeting')
    expect(result.supergraphSdl).toMatch(/greeting: String! @join__field\(graph: ORDERS, requires: "name"\)/)
  })

  it('@provides', () => {
    const team = teamWith(
      `type Order @key(fields: "id") { id: ID! buyer: User! @provides(fields: "name") }
       type User @key(fields: "id") { id: ID! name: String! @external }`,
      '@external',
      '@provides',
    )
    const { codes, supergraphSdl } = compose(team)
    expect(codes).toEqual([])
    expect(supergraphSdl).toMatch(/buyer: User! @join__field\([^)]*provides: "name"\)/)
  })

  it('@extends', () => {
    const order = 'type Order @key(fields: "id") { id: ID! }'
    const user = 'type User @extends @key(fields: "id") { id: ID! @external orders: [Order!]! }'
    expect(fieldsOf(apiOf(compose(teamWith(`${order} ${user}`, '@extends', '@external'))), 'User')).toContain('orders')
    // Also a subgraph of Federation 1, which has no link.
    const first = `type Query { orders: [Order!]! } ${order} extend type User @key(fields: "id") { id: ID! @external orders: [Order!]! }`
    expect(fieldsOf(apiOf(compose(first)), 'User')).toContain('orders')
  })

  it('@override', () => {
    const team = teamWith(
      `type Order @key(fields: "id") { id: ID! }
       type User @key(fields: "id") { id: ID! phone: String @override(from: "fusion") }`,
      '@override',
    )
    const { codes, supergraphSdl } = compose(team)
    expect(codes).toEqual([])
    expect(supergraphSdl).toMatch(/phone: String @join__field\(graph: ORDERS, override: "fusion"\)/)
  })

  it('@tag and @inaccessible: in a copy of its text', () => {
    const field = '  phoneNumbers: [JSONObject!] '
    const own = sdl
      .replace('import: [', 'import: ["@inaccessible", "@tag", ')
      .replace(field, `${field}@inaccessible @tag(name: "internal") `)
    const result = compose(teamWith('type Order @key(fields: "id") { id: ID! }'), own)
    const fields = fieldsOf(apiOf(result), 'Profile')
    expect(fields).toContain('emails')
    expect(fields).not.toContain('phoneNumbers')
    expect(result.supergraphSdl).toMatch(/phoneNumbers: [^\n]*@tag\(name: "internal"\)/)
  })
})

describe('the subgraph has no use for', () => {
  it.each(['requires', 'provides', 'external', 'extends', 'override', 'interfaceObject', 'composeDirective'])(
    '@%s',
    (name) => {
      expect(sdl).not.toMatch(new RegExp(`@${name}\\b`))
    },
  )

  it('@key (composite)', () => {
    expect(sdl).not.toMatch(/@key\(fields: "[^"]*\{/)
    // The router does not ask for another subgraph's key of this kind here: the other keys are in it.
    const team = teamWith(
      `type Order @key(fields: "id buyer { id }") { id: ID! buyer: User! }
       type User @key(fields: "id") { id: ID! }`,
    )
    expect(fieldsOf(apiOf(compose(team)), 'Order')).toEqual(['id', 'buyer'])
  })

  it('federated tracing: its spans have the trace of the router', async () => {
    const response = await app.app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { 'x-api-key': tenant.key, 'apollo-federation-include-trace': 'ftv1' },
      payload: { query: '{ viewer { keyName } }' },
    })
    expect(response.json()).toMatchObject({ data: { viewer: { keyName: expect.any(String) } } })
    expect(response.json().extensions).not.toHaveProperty('ftv1')
  })
})
