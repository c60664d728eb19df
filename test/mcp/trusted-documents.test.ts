import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { AppOptions } from '../../src/app.ts'
import { toToolName } from '../../src/mcp/route-tools.ts'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { createOneOfEach } from '../support/factories.ts'
import { connectTo } from '../support/mcp.ts'

let shared: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>
beforeAll(async () => {
  shared = await startTestApp()
  tenant = await shared.createTenant()
  rows = await createOneOfEach(shared, tenant)
})
afterAll(() => shared.close())

const texts = [
  `"""Gets the name of a creator."""
   query CreatorName("The id of the creator." $id: ID!, $withEmail: Boolean! = false) {
     user(id: $id) { name email @include(if: $withEmail) }
   }`,
  '"""Renames a creator.""" mutation RenameCreator($input: UpdateUserInput!) { updateUser(input: $input) { user { name } } }',
  '"""Replaces none.""" query GetUser { viewer { keyName } }',
  '"""Follows jobs.""" subscription FollowJobs { jobs(first: 1) { id } }',
  '"""Is invalid here.""" query Old { gone }',
  '"""Has no name.""" query { viewer { keyName } }',
  'query Undescribed { viewer { keyName } }',
  '"""Lists creators.""" query Creators($filter: UserFilter) { users(filter: $filter, first: 1) { nodes { id } } }',
]

async function connect(others: 'log' | 'reject', options: Partial<AppOptions> = {}) {
  const byId = new Map(texts.map((text, index) => [String(index), text]))
  const gateway = await shared.startAnother({ trustedDocuments: { others, byId, texts: new Set(texts) }, ...options })
  onTestFinished(() => gateway.close())
  return connectTo(await addressOf(gateway), { 'x-api-key': tenant.key })
}

const routeTools = routes
  .filter(({ repeats }) => !repeats)
  .map(({ operation }) => toToolName(/\w+ (\w+)/.exec(operation)?.[1]))

it('each trusted document with a description is a tool; if others are rejected, query and search_schema are not offered', async () => {
  const { client } = await connect('reject')
  const { tools } = await client.listTools()
  const names = tools.map(({ name }) => name)
  expect(names.toSorted()).toEqual(
    ['creator_name', 'rename_creator', 'creators', 'wait_for_job', ...routeTools].toSorted(),
  )
  expect(tools.find(({ name }) => name === 'creator_name')).toEqual({
    name: 'creator_name',
    description: 'Gets the name of a creator.',
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'string', description: 'The id of the creator.' }, withEmail: { type: 'boolean' } },
      required: ['id'],
    },
    annotations: { readOnlyHint: true },
  })
  expect(tools.find(({ name }) => name === 'rename_creator')).toMatchObject({
    annotations: { readOnlyHint: false },
    inputSchema: { properties: { input: { type: 'object', title: expect.stringContaining('id: ID!') } } },
  })
  expect(tools.find(({ name }) => name === 'get_user')?.description).toBe('Get a user.')
})

it('a tool of a trusted document takes its variables as arguments, and returns the response of /graphql', async () => {
  const { call } = await connect('reject')
  const { id, name, email } = rows.user
  expect((await call('creator_name', { id })).json.data).toEqual({ user: { name } })
  expect((await call('creator_name', { id, withEmail: true })).json.data).toEqual({ user: { name, email } })
  expect(await call('creator_name', {})).toMatchObject({
    isError: true,
    json: { errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] },
  })
  const { json } = await call('rename_creator', { input: { id, name: 'Renamed' } })
  expect(json.data).toEqual({ updateUser: { user: { name: 'Renamed' } } })
})

it('if other documents are logged, query is offered too', async () => {
  const { client } = await connect('log')
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['creator_name', 'query', 'search_schema']))
})

it('without introspection, query is offered without search_schema, and names of the schema stay hidden', async () => {
  const { client, call } = await connect('log', { introspection: false })
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toContain('query')
  expect(names).not.toContain('search_schema')
  expect((await call('query', { query: '{ user(id: "x") { nam } }' })).text).not.toContain('User')
})

it('a long response of a mutation is not sent, and is no error, so that it is not sent again', async () => {
  const long = `"""Creates a job.""" mutation CreateLongJob($payload: JSONObject!) {
    createJob(input: { jobType: "long", payload: $payload }) { job { payload } }
  }`
  const trustedDocuments = { others: 'reject' as const, byId: new Map([['long', long]]), texts: new Set([long]) }
  const { call } = await connect('reject', { trustedDocuments })
  const { isError, text } = await call('create_long_job', { payload: { text: 'x'.repeat(40_000) } })
  expect(isError).toBe(false)
  expect(text).toMatch(/^It was executed\. The response has \d+ KiB/)
})
