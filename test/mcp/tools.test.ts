import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { connectTo } from '../support/mcp.ts'

let app: TestApp
let tenant: TestTenant
let address: string
let rows: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
  address = await addressOf(app)
})
afterAll(() => app.close())

const connect = (options?: Parameters<typeof connectTo>[2]) => connectTo(address, { 'x-api-key': tenant.key }, options)

const readingTools = [
  'list_users',
  'get_user',
  'list_accounts',
  'get_account',
  'get_profile',
  'get_profile_history',
  'get_profiles',
  'list_jobs',
  'get_job',
]
const writingTools = [
  'create_user',
  'update_user',
  'delete_user',
  'link_account',
  'unlink_account',
  'sync_profile',
  'create_job',
  'cancel_job',
  'retry_job',
]

describe('the list of tools', () => {
  it.each(['legacy', 'auto'] as const)(
    'has one per REST route, wait_for_job, query and search_schema (versions: %s)',
    async (mode) => {
      const { client } = await connect({ versionNegotiation: { mode } })
      const { tools } = await client.listTools()
      const names = tools.map(({ name }) => name)
      expect(names.toSorted()).toEqual(
        [readingTools, writingTools, 'wait_for_job', 'query', 'search_schema'].flat().toSorted(),
      )
      expect(names).toHaveLength(routes.filter(({ repeats }) => !repeats).length + 3)
    },
  )

  it('says which tools only read', async () => {
    const { client } = await connect()
    const { tools } = await client.listTools()
    const writing = tools.filter(({ annotations }) => annotations?.readOnlyHint === false)
    expect(writing.map(({ name }) => name)).toEqual(writingTools)
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint === true)).toHaveLength(readingTools.length + 3)
  })

  it('has at most 4,000 tokens, of about 4 characters each', async () => {
    const { client } = await connect()
    const { tools } = await client.listTools()
    expect(JSON.stringify(tools).length / 4).toBeLessThan(4_000)
  })

  it('describes arguments with the types and bounds of REST', async () => {
    const { client } = await connect()
    const { tools } = await client.listTools()
    const schemaOf = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema
    expect(schemaOf('list_users')).toMatchObject({
      properties: { limit: { type: 'integer', minimum: 1, maximum: 500 } },
    })
    expect(schemaOf('update_user')).toMatchObject({
      properties: { id: { type: 'string' }, phone: { type: ['string', 'null'], maxLength: 64 } },
      required: ['id'],
    })
    expect(schemaOf('get_profiles')).toMatchObject({
      properties: { account_ids: { type: 'array', maxItems: 500 } },
      required: ['account_ids'],
    })
    // Of what REST does with headers.
    expect(JSON.stringify(tools)).not.toMatch(/`Link`|Streams|HTTP/)
  })
})

describe('a tool of a REST route', () => {
  it('returns the body of the response of REST', async () => {
    const { call } = await connect()
    const bodyOf = async (url: string) => (await app.rest(tenant, 'GET', url)).json()
    const { user, account, job } = rows
    expect((await call('get_user', { id: user.id })).json).toEqual(await bodyOf(`/users/${user.id}`))
    expect((await call('get_job', { id: job.id })).json).toEqual(await bodyOf(`/fusion/jobs/${job.id}`))
    const profiles = await call('get_profiles', { account_ids: [account.id, 'acc_unknown'] })
    expect(profiles).toMatchObject({
      isError: false,
      json: { profiles: [{ platform_account_id: account.platformAccountId }] },
    })
    expect(profiles.json).toEqual(await bodyOf(`/fusion/profiles?account_ids=${account.id}`))
  })

  it('sends the statements of the route', async () => {
    const { call } = await connect()
    const byRest = await app.statementsOf(() => app.rest(tenant, 'GET', `/users/${rows.user.id}`))
    expect(await app.statementsOf(() => call('get_user', { id: rows.user.id }))).toEqual(byRest)
    expect(byRest).toHaveLength(1)
  })

  it('reads a list page by page', async () => {
    const other = await app.createTenant()
    const make = factoriesFor(app, other)
    for (const id of ['usr_1', 'usr_2', 'usr_3']) await make.user({ id })
    const { call } = await connectTo(address, { 'x-api-key': other.key })
    const idsOf = ({ json }: Awaited<ReturnType<typeof call>>) => json.users.map(({ id }: { id: string }) => id)
    const first = await call('list_users', { limit: 2 })
    const last = await call('list_users', { limit: 2, cursor: first.json.next_cursor })
    expect([...idsOf(first), ...idsOf(last)].toSorted()).toEqual(['usr_1', 'usr_2', 'usr_3'])
    expect(last.json).not.toHaveProperty('next_cursor')
  })

  it('finds users by their external ids, also with commas', async () => {
    const other = await app.createTenant()
    const make = factoriesFor(app, other)
    await Promise.all(['a,b', 'c', 'd'].map((externalId) => make.user({ externalId })))
    const { call } = await connectTo(address, { 'x-api-key': other.key })
    const { json } = await call('list_users', { external_id: ['a,b', 'd'] })
    expect(json.users.map((user: Record<string, string>) => user['external_id']).toSorted()).toEqual(['a,b', 'd'])
    const created = await call('create_user', { name: 'Ada', email: 'a@b', phone: '1', external_id: 'e', metadata: {} })
    expect(created.json).toMatchObject({ external_id: 'e', metadata: {} })
  })

  it('reads 20 rows of a list without a limit, and not all', async () => {
    const other = await app.createTenant()
    const make = factoriesFor(app, other)
    await Promise.all(Array.from({ length: 21 }, () => make.user()))
    const { json } = await (await connectTo(address, { 'x-api-key': other.key })).call('list_users')
    expect(json.users).toHaveLength(20)
    expect(json.next_cursor).toEqual(expect.any(String))
  })

  it('writes', async () => {
    const { call } = await connect()
    const { json: user } = await call('create_user', { name: 'Ada', email: 'ada@example.com', phone: '+1 555 0100' })
    const { json } = await call('update_user', { id: user.id, name: 'Ada Lovelace', phone: null })
    expect(json).toMatchObject({ id: user.id, name: 'Ada Lovelace', email: 'ada@example.com', phone: null })
  })

  it('links accounts, synchronizes profiles, changes jobs, and deletes', async () => {
    const { call } = await connect()
    const user = await factoriesFor(app, tenant).user()
    const link = { user_platform: 'TIKTOK', platform_account_id: 'tt-1', display_name: 'Ada' }
    const { json: account } = await call('link_account', { id: user.id, ...link })
    expect(account).toMatchObject({ ...link, id: expect.stringMatching(/^acc_/) })
    expect((await call('list_accounts', { id: user.id })).json).toEqual({ accounts: [account] })
    const { json: profile } = await call('sync_profile', { id: account.id, full_name: 'Ada Lovelace' })
    expect(profile).toMatchObject({ full_name: 'Ada Lovelace', platform_account_id: 'tt-1' })
    const { json: job } = await call('create_job', { job_type: 'of_mcp', payload: { id: 1 } })
    expect((await call('list_jobs', { job_type: 'of_mcp', status: 'pending' })).json).toEqual({ jobs: [job] })
    expect((await call('cancel_job', { id: job.id })).json).toMatchObject({ id: job.id, status: 'cancelled' })
    const deleted = { isError: false, text: 'Deleted.' }
    expect(await call('unlink_account', { id: account.id })).toMatchObject(deleted)
    expect(await call('delete_user', { id: user.id })).toMatchObject(deleted)
    expect((await call('get_user', { id: user.id })).json).toMatchObject({ code: 'NOT_FOUND' })
  })

  it.each(['legacy', 'auto'] as const)('returns every character (versions: %s)', async (mode) => {
    const { call } = await connect({ versionNegotiation: { mode } })
    const user = { name: 'a\u2028data: {"a":1}\u2029é😀', email: 'lines@example.com', phone: '1' }
    expect((await call('create_user', user)).json).toMatchObject(user)
  })

  it('writes once for one idempotency key, also together with REST', async () => {
    const key = { 'x-api-key': tenant.key, 'idempotency-key': 'once' }
    const { call } = await connectTo(address, key)
    const user = { name: 'Once', email: 'once@example.com', phone: '1' }
    const first = await call('create_user', user)
    expect(await call('create_user', user)).toEqual(first)
    const byRest = await app.app.inject({ method: 'POST', url: '/users', headers: key, payload: user })
    expect(byRest.headers['idempotent-replayed']).toBe('true')
    expect(byRest.json()).toEqual(first.json)
  })

  it.each([
    ['get_user', { id: 'usr_unknown' }, { status: 404, code: 'NOT_FOUND' }],
    ['get_user', {}, { status: 422, errors: [{ field: 'id' }] }],
    ['get_user', { id: '..' }, { status: 422, errors: [{ field: 'id' }] }],
    ['get_user', { id: '../fusion/jobs/x' }, { status: 404, code: 'NOT_FOUND' }],
    ['get_job', { id: '\ud800' }, { status: 422, errors: [{ field: 'id' }] }],
    ['update_user', { id: '.', name: 'x' }, { status: 422, errors: [{ field: 'id' }] }],
    ['create_user', { name: 'x' }, { status: 422, errors: [{ field: 'email' }, { field: 'phone' }] }],
    ['list_users', { limit: 'all' }, { status: 422, errors: [{ field: 'limit' }] }],
    ['get_profiles', { account_ids: [1] }, { status: 422, errors: [{ field: 'account_ids[0]' }] }],
    ['get_profiles', {}, { status: 422, errors: [{ field: 'account_ids' }] }],
    ['get_profiles', { account_ids: ['x'.repeat(40_000)] }, { status: 413, code: 'PAYLOAD_TOO_LARGE' }],
  ])('%s(%j) returns the problem document %j as an error', async (name, args, problem) => {
    const { call } = await connect()
    expect(await call(name, args)).toMatchObject({
      isError: true,
      json: { ...problem, request_id: expect.any(String) },
    })
  })
})

describe('query', () => {
  it('reads with variables, and returns data and cost', async () => {
    const { call } = await connect()
    const query = 'query One($id: ID!) { user(id: $id) { name } }  query Two { viewer { keyName } }'
    const { json, isError } = await call('query', { query, variables: { id: rows.user.id }, operationName: 'One' })
    expect(isError).toBe(false)
    expect(json).toMatchObject({ data: { user: { name: rows.user.name } }, extensions: { cost: { requested: 1 } } })
  })

  it('refuses mutations and subscriptions, and executes nothing', async () => {
    const { call } = await connect()
    const query = `mutation { deleteUser(input: { id: "${rows.user.id}" }) { userErrors { code } } }`
    expect(await call('query', { query })).toMatchObject({
      isError: true,
      json: { errors: [{ message: expect.stringContaining('mutation'), extensions: { code: 'BAD_USER_INPUT' } }] },
    })
    expect(await call('query', { query: 'subscription { jobs { id } }' })).toMatchObject({ isError: true })
    expect(await call('get_user', { id: rows.user.id })).toMatchObject({ isError: false })
  })

  it.each([
    [{ query: '{ nope }' }, 'Cannot query field'],
    [{ query: '{' }, 'Syntax Error'],
    [{}, 'Syntax Error'],
    [{ query: '{ viewer { keyName } }', variables: 1 }, 'variables must be an object'],
    [{ query: `{ viewer { ${'keyName '.repeat(5_000)} } }` }, 'at most 32 KiB'],
  ])('returns the error of /graphql (%#)', async (args, message) => {
    const { call } = await connect()
    expect(await call('query', args)).toMatchObject({ isError: true, text: expect.stringContaining(message) })
  })

  it('is an error if a part of the data has an error', async () => {
    const { call } = await connect()
    const { isError, json } = await call('query', {
      query: '{ viewer { keyName } users(first: 501) { nodes { id } } }',
    })
    expect(isError).toBe(true)
    expect(json.errors).toHaveLength(1)
  })
})

describe('search_schema', () => {
  it('lists the fields of a type, then what has the word in its name', async () => {
    const { call } = await connect()
    const { text } = await call('search_schema', { search: 'account' })
    const lines = text.split('\n')
    expect(lines.slice(0, 3).every((line) => line.startsWith('Account.'))).toBe(true)
    const { text: ofUser } = await call('search_schema', { search: 'user accounts' })
    expect(ofUser).toMatch(/^User\.accounts\(.*\): \[Account!\]! #/)
  })

  it('finds words in descriptions, and values of enumerations', async () => {
    const { call } = await connect()
    expect((await call('search_schema', { search: 'followers' })).text).toMatch(
      /ProfileStats\.followers: .*\nProfile\.followersCount: .*\n[\d\D]*ProfileOrderField\.FOLLOWERS_COUNT # /,
    )
    expect((await call('search_schema', { search: 'JobStatus' })).text).toContain('JobStatus.PENDING #')
    expect((await call('search_schema', { search: 'users Query' })).text).toMatch(
      /^Query\.users\(.*filter: UserFilter.*\): UserConnection # /,
    )
  })

  it('finds nothing for unknown words, and rejects other types', async () => {
    const { call } = await connect()
    expect((await call('search_schema', { search: 'xyzzy' })).text).toBe('0 found.')
    expect(await call('search_schema', { search: 1 })).toMatchObject({
      isError: true,
      json: { code: 'BAD_USER_INPUT' },
    })
  })
})

describe('a response above 32 KiB', () => {
  it('is not sent, and the result says how to ask for less', async () => {
    const other = await app.createTenant()
    const make = factoriesFor(app, other)
    await Promise.all(Array.from({ length: 200 }, () => make.user({ name: 'é'.repeat(200) })))
    const { call } = await connectTo(address, { 'x-api-key': other.key })
    const all = await call('list_users', { limit: 200 })
    expect(all.isError).toBe(true)
    expect(all.text).toMatch(
      /^The response has \d+ KiB, and a tool returns at most 32 KiB\. Ask for fewer rows \(limit, first\)/,
    )
    const query = '{ users(first: 200) { nodes { name } } }'
    expect(await call('query', { query })).toMatchObject({ isError: true, text: expect.stringContaining('fewer rows') })
    expect(await call('list_users', { limit: 20 })).toMatchObject({ isError: false })
  })
})

it('a tool that does not exist is an error of the protocol', async () => {
  const { client } = await connect()
  await expect(client.callTool({ name: 'drop_tables', arguments: {} })).rejects.toThrow('There is no tool drop_tables.')
})
