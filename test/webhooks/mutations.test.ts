import { createKeyRing } from '@fusion-gateway/auth'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { startDeliveriesOf, webhookClient } from '../support/webhooks.ts'

const url = 'https://example.com/hook'

let app: TestApp
let tenant: TestTenant
let client: ReturnType<typeof webhookClient>

beforeAll(async () => {
  app = await startTestApp()
})
beforeEach(async () => {
  tenant = await app.createTenant()
  client = webhookClient(app, tenant)
})
afterAll(() => app.close())

/** A key of the tenant with exactly these scopes. */
async function withScopes(scopes: readonly string[]): Promise<TestTenant> {
  const { tenantAppId, name } = tenant
  const { key, row } = await createKey(app.database, { tenantAppId, name: 'narrow', scopes })
  return { tenantAppId, name, key, keyId: row.id }
}

describe('createWebhook', () => {
  it('returns the webhook, and a secret that is shown only then', async () => {
    const { webhook, secret, userErrors } = await client.call('createWebhook', {
      url,
      eventTypes: ['USER_CREATED', 'JOB_FAILED', 'USER_CREATED'],
      description: 'Sync',
    })
    expect(userErrors).toEqual([])
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/)
    expect(webhook).toEqual({
      id: expect.stringMatching(/^whk_/),
      url,
      eventTypes: ['USER_CREATED', 'JOB_FAILED'],
      query: null,
      description: 'Sync',
      enabled: true,
      disabledReason: null,
    })
    expect(await client.show(webhook?.id ?? '')).toEqual(webhook)
    const { data } = await app.graphql(tenant, '{ webhooks { nodes { id } } }')
    expect(data['webhooks']).toEqual({ nodes: [{ id: webhook?.id }] })
    const rows = await app.database.prisma.$queryRaw<{ row: string }[]>`SELECT w::text AS row FROM webhook w`
    expect(JSON.stringify(rows)).not.toContain(secret?.slice('whsec_'.length))
  })

  it.each([
    [{ url: 'ftp://example.com' }, 'url', 'INVALID_FORMAT'],
    [{ url: 'not a url' }, 'url', 'INVALID_FORMAT'],
    [{ url: 'https://user:secret@example.com' }, 'url', 'INVALID_FORMAT'],
    [{ url: 'https://example.com/#part' }, 'url', 'INVALID_FORMAT'],
    [{ url: 'https://example.com:25' }, 'url', 'OUT_OF_RANGE'],
    [{ url: `https://example.com/${'a'.repeat(2_048)}` }, 'url', 'TOO_LONG'],
    [{ eventTypes: [] }, 'eventTypes', 'REQUIRED'],
    [{ description: 'a'.repeat(501) }, 'description', 'TOO_LONG'],
    [{ query: `query ($id: ID!) { user(id: $id) { id } } # ${'a'.repeat(4_000)}` }, 'query', 'TOO_LONG'],
    [{ query: 'query ($id: ID!) { nothing }' }, 'query', 'INVALID_FORMAT'],
    [{ query: '{' }, 'query', 'INVALID_FORMAT'],
    [{ query: '{ viewer { keyName } }' }, 'query', 'INVALID_FORMAT'],
    [{ query: 'query ($id: ID) { job(id: "a") { id } }' }, 'query', 'INVALID_FORMAT'],
    [
      { query: 'query ($id: ID!, $n: Int) { user(id: $id) { id } users(first: $n) { nodes { id } } }' },
      'query',
      'INVALID_FORMAT',
    ],
    [{ query: 'query a($id: ID!) { user(id: $id) { id } } query b { viewer { keyName } }' }, 'query', 'INVALID_FORMAT'],
    [{ query: 'mutation ($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }' }, 'query', 'INVALID_FORMAT'],
    [{ query: 'subscription ($id: ID!) { user(id: $id) { id } }' }, 'query', 'INVALID_FORMAT'],
    [{ query: 'query ($id: ID!) { user(id: $id) { id } __schema { description } }' }, 'query', 'INVALID_FORMAT'],
    [
      { query: 'query ($id: ID!) { user(id: $id) { id } users(first: 500) { nodes { accounts { id } } } }' },
      'query',
      'OUT_OF_RANGE',
    ],
  ])('rejects %j', async (given, field, code) => {
    const { webhook, userErrors } = await client.call('createWebhook', { url, eventTypes: ['USER_CREATED'], ...given })
    expect(webhook).toBeNull()
    expect(userErrors).toMatchObject([{ field: [field], code }])
  })

  it('rejects a query that needs scopes which the key does not have', async () => {
    const narrow = webhookClient(app, await withScopes(['webhooks:write', 'users:read']))
    const query = 'query ($id: ID!) { user(id: $id) { name email } }'
    const { userErrors } = await narrow.call('createWebhook', { url, eventTypes: ['USER_CREATED'], query })
    expect(userErrors).toMatchObject([{ field: ['query'], message: expect.stringContaining('contacts:read') }])
    const { enabled } = await narrow.create(url, { query: 'query ($id: ID!) { user(id: $id) { name } }' })
    expect(enabled).toBe(true)
  })

  const within = (field: string) => `query ($id: ID!) { user(id: $id) { id ${field} } }`
  const many = Array.from({ length: 21 }, () => '{ platform: "x" }').join()
  it.each([
    ['the cursor of no list', within('accountsConnection(after: "x") { nodes { id } }'), 'user.accountsConnection'],
    [
      'the cursor of no list, at the root',
      'query ($id: ID!) { node(id: $id) { id } jobs(after: "x") { nodes { id } } }',
      'jobs',
    ],
    ['a long page', within('accounts(first: 501) { id }'), 'user.accounts'],
    ['two sizes', within('accountsConnection(first: 1, last: 1) { nodes { id } }'), 'user.accountsConnection'],
    ['a long page in a fragment', `${within('...f')} fragment f on User { a: accounts(first: -1) { id } }`, 'user.a'],
    ['a long page at the root', 'query ($id: ID!) { node(id: $id) { id } users(last: 501) { nodes { id } } }', 'users'],
    [
      'a long page beside a shorter one',
      within('a: accounts(first: 1) { id } b: accounts(first: 501) { id }'),
      'user.b',
    ],
    ['21 conditions', within(`accounts(filter: { or: [${many}] }) { id }`), 'user.accounts'],
    [
      'many groups',
      'query ($id: ID!) { node(id: $id) { id } userStats { byPlatform: platforms(first: 101) { count } } }',
      'userStats.byPlatform',
    ],
  ])('rejects a query that can never succeed, because of %s', async (_, query, path) => {
    const message = expect.stringContaining(`is rejected at ${path}: `)
    const rejected = [{ field: ['query'], code: 'OUT_OF_RANGE', message }]
    const created = await client.call('createWebhook', { url, eventTypes: ['USER_CREATED'], query })
    expect(created.userErrors).toMatchObject(rejected)
    const { id } = await client.create(url)
    expect((await client.call('updateWebhook', { id, query })).userErrors).toMatchObject(rejected)
    await client.call('deleteWebhook', { id })
  })

  it('rejects a query whose arguments need scopes that the key does not have', async () => {
    const narrow = webhookClient(app, await withScopes(['webhooks:write', 'users:read']))
    const query = 'query ($id: ID!) { node(id: $id) { id } users(filter: { email: "a@example.com" }) { nodes { id } } }'
    const { userErrors } = await narrow.call('createWebhook', { url, eventTypes: ['USER_CREATED'], query })
    expect(userErrors).toMatchObject([{ field: ['query'], message: expect.stringContaining('contacts:read') }])
    expect((await client.create(url, { query })).query).toBe(query)
  })

  it('accepts arguments that can succeed, and those of fields that are left out', async () => {
    const accounts =
      'accounts(first: 500, filter: { and: [{ platform: "YOUTUBE" }] }, orderBy: { field: CREATED_AT, direction: ASC }) { id }'
    for (const query of [within(accounts), within('accounts(first: 501) @include(if: false) { id }')]) {
      const { id } = await client.create(url, { query })
      await client.call('deleteWebhook', { id })
    }
  })

  it('validates its query in the queue of steps, and keeps the document in the cache of the gateway', async () => {
    const { queues, documents } = app.services
    const run = vi.spyOn(queues.parsing, 'run')
    const query = within('email')
    const { id } = await client.create(url, { query })
    const ofTenant = expect.objectContaining({ tenantAppId: tenant.tenantAppId })
    expect(run).toHaveBeenCalledWith(ofTenant, expect.any(Function))
    expect(documents.has(query)).toBe(true)
    documents.delete(query)
    run.mockClear()
    const stop = startDeliveriesOf(app)
    await app.graphql(
      tenant,
      'mutation { createUser(input: { name: "Ada", email: "a@b.co", phone: "1" }) { user { id } } }',
    )
    await expect.poll(async () => (await client.deliveries(id)).length, { timeout: 20_000 }).toBe(1)
    await expect.poll(() => documents.has(query), { timeout: 20_000 }).toBe(true)
    expect(run).toHaveBeenCalled()
    await stop()
    run.mockRestore()
    await client.call('deleteWebhook', { id })
  })

  it('is refused for the 51st webhook of a tenant', async () => {
    const first = await client.create(url)
    const row = await app.database.prisma.webhook.findFirstOrThrow({ where: { id: first.id } })
    const more = Array.from({ length: 49 }, (_, index) => ({ ...row, id: `whk_${index}` }))
    await app.database.prisma.webhook.createMany({ data: more })
    const { userErrors } = await client.call('createWebhook', { url, eventTypes: ['USER_CREATED'] })
    expect(userErrors).toMatchObject([{ field: ['url'], code: 'CONFLICT', message: expect.stringContaining('50') }])
  })

  it('needs the scope webhooks:write, which a token for a user cannot have', async () => {
    const others = await withScopes(['users:read', 'events:read'])
    const { errors } = await app.graphql(others, '{ webhooks { nodes { id } } }')
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    const create = `mutation { createAccessToken(input: { userId: "usr_1", scopes: ["webhooks:write"] }) { userErrors { field } } }`
    const { data } = await app.graphql(tenant, create)
    expect(data['createAccessToken']).toEqual({ userErrors: [{ field: ['scopes'] }] })
  })

  it('is FORBIDDEN with a message that names the variable if the gateway has no key for secrets', async () => {
    const { webhooks } = app.services
    const keyless = await app.startAnother({
      services: { ...app.services, webhooks: { ...webhooks, secrets: undefined } },
    })
    const create = webhookClient(keyless, tenant).call('createWebhook', { url, eventTypes: ['USER_CREATED'] })
    await expect(create).rejects.toThrow(/SECRET_KEYS.*FORBIDDEN/)
    await keyless.close()
  })
})

describe('updateWebhook', () => {
  it('changes the given fields, and null clears the optional ones', async () => {
    const { id, secret: _, ...webhook } = await client.create(url, { description: 'Sync' })
    const changed = await client.call('updateWebhook', { id, eventTypes: ['USER_DELETED'], enabled: false })
    expect(changed.webhook).toEqual({ ...webhook, id, eventTypes: ['USER_DELETED'], enabled: false })
    const cleared = await client.call('updateWebhook', { id, description: null, enabled: true })
    expect(cleared.webhook).toEqual({ ...webhook, id, eventTypes: ['USER_DELETED'], description: null })
  })

  it('begins the five days of failures again with another URL', async () => {
    const { id } = await client.create(url)
    await app.database.prisma.webhook.updateMany({ where: { id }, data: { failingSince: new Date(0) } })
    await client.call('updateWebhook', { id, description: 'the same URL' })
    expect(await app.database.prisma.webhook.count({ where: { id, failingSince: null } })).toBe(0)
    await client.call('updateWebhook', { id, url: 'https://example.com/other' })
    expect(await app.database.prisma.webhook.count({ where: { id, failingSince: null } })).toBe(1)
  })

  it('does not let a key direct the data of a key with more scopes to another URL', async () => {
    const query = 'query ($id: ID!) { user(id: $id) { email } }'
    const { id } = await client.create(url, { query })
    const narrow = webhookClient(app, await withScopes(['webhooks:write']))
    for (const change of [{ url: 'https://elsewhere.example' }, { enabled: true }, { query }]) {
      const { userErrors } = await narrow.call('updateWebhook', { id, ...change })
      expect(userErrors).toMatchObject([{ field: ['query'], code: 'OUT_OF_RANGE' }])
    }
    expect(await client.show(id)).toMatchObject({ url })
    const { userErrors } = await narrow.call('updateWebhook', { id, url: 'https://elsewhere.example', query: null })
    expect(userErrors).toEqual([])
    const row = await app.database.prisma.webhook.findFirstOrThrow({ where: { id } })
    expect(row.scopes).toEqual(['webhooks:write'])
  })
})

it('deleteWebhook deletes any number of deliveries, in batches', async () => {
  const { id } = await client.create('https://example.com')
  await app.database.prisma.$executeRaw`
    INSERT INTO webhook_delivery (tenant_app_id, id, webhook_id, event_id, event_type, updated_at)
    SELECT ${tenant.tenantAppId}, 'dlv_' || number, ${id}, 'evt_' || number, 'USER_CREATED', now() FROM generate_series(1, 10001) AS number`
  const statements = await app.statementsOf(() => client.call('deleteWebhook', { id }))
  expect(statements.filter((sql) => sql.includes('DELETE FROM webhook_delivery'))).toHaveLength(3)
  expect(await app.database.prisma.webhookDelivery.count({ where: { webhookId: id } })).toBe(0)
})

it('deleteWebhook deletes it once', async () => {
  const { id } = await client.create(url)
  expect(await client.call('deleteWebhook', { id })).toEqual({ deletedWebhookId: id, userErrors: [] })
  expect(await client.show(id)).toBeNull()
  const { userErrors } = await client.call('deleteWebhook', { id })
  expect(userErrors).toMatchObject([{ field: ['id'], code: 'NOT_FOUND' }])
})

it.each([
  [{}, 'events', 'REQUIRED'],
  [{ after: 'evt_1', eventIds: ['evt_1'] }, 'events', 'REQUIRED'],
  [{ events: { eventIds: [] } }, 'events', 'REQUIRED'],
  [{ events: { eventIds: ['evt_1'] }, after: 'evt_1' }, 'events', 'CONFLICT'],
  [{ events: { eventIds: [`evt_${'0'.repeat(24)}`] } }, 'eventIds', 'NOT_FOUND'],
  [{ eventIds: Array.from({ length: 101 }, () => 'evt_1') }, 'eventIds', 'TOO_LONG'],
  [{ eventIds: [`evt_${'0'.repeat(24)}`] }, 'eventIds', 'NOT_FOUND'],
  [{ after: 'evt_1' }, 'after', 'INVALID_FORMAT'],
])('redeliverEvents rejects %j', async (given, field, code) => {
  const { id: webhookId } = await client.create(url)
  const { userErrors } = await client.call('redeliverEvents', { webhookId, ...given })
  expect(userErrors).toMatchObject([{ field: [field], code }])
})

it('the secret of a webhook is stored so that another webhook cannot use it, and older keys still decrypt', async () => {
  const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const stored = createKeyRing([one]).encrypt('whsec_x', 'ten_1 whk_1')
  expect(createKeyRing([other, one]).decrypt(stored, 'ten_1 whk_1')).toBe('whsec_x')
  expect(() => createKeyRing([one]).decrypt(stored, 'ten_1 whk_2')).toThrow('cannot be read at the moment')
  expect(() => createKeyRing([other]).decrypt(stored, 'ten_1 whk_1')).toThrow('cannot be read at the moment')
})
