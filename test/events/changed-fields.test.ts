import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { changeableFields } from '../../src/domain/event/changed-fields.ts'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, settleEvents, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { startDeliveriesOf, startReceiver, webhookClient } from '../support/webhooks.ts'

let app: TestApp
let tenant: TestTenant
let ids: { user: string; account: string }

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())
beforeEach(async () => {
  tenant = await app.createTenant()
  const make = factoriesFor(app, tenant)
  const user = await make.user()
  ids = { user: user.id, account: (await make.account(user.id)).id }
})

async function mutate(name: string, input: object): Promise<void> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { userErrors { message } } }`
  const { data, errors } = await app.graphql<Record<string, { userErrors: object[] }>>(tenant, query, { input })
  expect([errors, data[name]?.userErrors]).toEqual([undefined, []])
}

const updateUser = (input: object) => mutate('updateUser', { id: ids.user, ...input })
const syncProfile = (input: object) => mutate('syncProfile', { accountId: ids.account, ...input })

/** The types and the changed fields of the events that work causes. */
async function changesOf(work: () => Promise<unknown>) {
  await settleEvents(app)
  const read = async (after?: string) => {
    const query = 'query ($after: String) { events(first: 100, after: $after) { nodes { id type changedFields } } }'
    const { data } = await app.graphql<{ events: { nodes: { id: string; type: string; changedFields: string[] }[] } }>(
      tenant,
      query,
      { after },
    )
    return data.events.nodes
  }
  const last = (await read()).at(-1)?.id
  await work()
  await settleEvents(app)
  return (await read(last)).map(({ type, changedFields }) => [type, changedFields])
}

describe('changedFields', () => {
  it('are the fields of the schema that a mutation has changed', async () => {
    expect(
      await changesOf(async () => {
        await updateUser({ name: 'Eve', phone: '2' })
        await updateUser({ name: 'Eve', metadata: { a: 1 }, externalId: 'x' })
        await updateUser({ name: 'Eve' })
        await mutate('updateAccount', { id: ids.account, status: 'EXPIRED' })
        await mutate('upsertUser', { externalId: 'x', email: 'eve@example.com' })
      }),
    ).toEqual([
      ['USER_UPDATED', ['name', 'phone']],
      ['USER_UPDATED', ['externalId', 'metadata']],
      ['ACCOUNT_UPDATED', ['status']],
      ['USER_UPDATED', ['email']],
    ])
  })

  it('of a sync have the emails, in the one event of the profile', async () => {
    const emails = [{ value: 'eve@example.com' }]
    expect(
      await changesOf(async () => {
        await syncProfile({ username: 'eve', followersCount: 5, phoneNumbers: [{ a: 1 }], addresses: [], emails })
        await syncProfile({ username: 'eve', emails: [{ value: 'other@example.com' }] })
        await syncProfile({ username: 'adam', followersCount: null, emails: [] })
        await syncProfile({ username: 'adam' })
      }),
    ).toEqual([
      ['PROFILE_SYNCED', ['username', 'phoneNumbers', 'followersCount', 'emails']],
      ['PROFILE_SYNCED', ['emails']],
      ['PROFILE_SYNCED', ['username', 'followersCount', 'emails']],
    ])
  })

  it('are null for events of other kinds', async () => {
    const changes = await changesOf(async () => {
      await factoriesFor(app, tenant).user()
      await factoriesFor(app, tenant).job()
      await mutate('unlinkAccount', { id: ids.account })
      await mutate('deleteUser', { id: ids.user })
    })
    expect(changes.map(([type]) => type)).toEqual(['USER_CREATED', 'JOB_CREATED', 'ACCOUNT_UNLINKED', 'USER_DELETED'])
    expect(changes.map(([, fields]) => fields)).toEqual([null, null, null, null])
  })

  it('are names of fields of User, Account and Profile', () => {
    const types = ['User', 'Account', 'Profile'].flatMap((name) => schemas.schema.getType(name) ?? [])
    const names = new Set(types.flatMap((type) => Object.keys('getFields' in type ? type.getFields() : {})))
    for (const field of changeableFields) expect(names).toContain(field)
    // What the caller of a query or a relation has, and the times of each change.
    const others = [
      'accountsConnection',
      'accounts',
      'account',
      'growth',
      'history',
      'profile',
      'tenantApp',
      'tenantAppId',
    ]
    const every = [...changeableFields, ...others, 'updatedAt', 'syncedAt']
    expect([...names].toSorted()).toEqual(every.toSorted())
  })
})

describe('subscription { events(fields:) }', () => {
  const query = 'subscription ($fields: [String!]) { events(fields: $fields) { type changedFields } }'

  it('sends the changes of these fields, and events that do not name what they changed', async () => {
    const events = await subscribe(await addressOf(app), tenant.key, query, { fields: ['email', 'emails'] })
    onTestFinished(() => events.close())
    await updateUser({ name: 'Eve' })
    await updateUser({ email: 'eve@example.com', name: 'Adam' })
    await syncProfile({ username: 'eve' })
    await syncProfile({ username: 'eve', emails: [{ value: 'a@b' }] })
    await mutate('unlinkAccount', { id: ids.account })
    const received: unknown[] = []
    while (received.length < 3) {
      const event = (await events.next())?.data?.data?.['events']
      if (event) received.push(event)
    }
    expect(received).toEqual([
      { type: 'USER_UPDATED', changedFields: ['name', 'email'] },
      { type: 'PROFILE_SYNCED', changedFields: ['emails'] },
      { type: 'ACCOUNT_UNLINKED', changedFields: null },
    ])
  })

  it.each([
    ['none', [], 'must name a field'],
    ['one that every change writes', ['email', 'updatedAt'], 'and not "updatedAt"'],
    ['one that no type has', ['__proto__'], 'and not "__proto__"'],
    ['101', Array.from({ length: 101 }, () => 'email'), 'at most 100 entries'],
  ])('rejects %s', async (_, fields, message) => {
    const events = await subscribe(await addressOf(app), tenant.key, query, { fields })
    onTestFinished(() => events.close())
    expect((await events.next())?.data).toMatchObject({ errors: [{ message: expect.stringContaining(message) }] })
  })
})

describe('a webhook with fields', () => {
  it('gets changes of these fields and events without changedFields, which its payload names', async () => {
    const receiver = await startReceiver()
    const stop = startDeliveriesOf(app)
    onTestFinished(async () => {
      await stop()
      await receiver.close()
    })
    const eventTypes = ['USER_CREATED', 'USER_UPDATED']
    await webhookClient(app, tenant).create(receiver.url, { eventTypes, fields: ['email', 'email'] })
    await updateUser({ name: 'Eve' })
    await updateUser({ email: 'eve@example.com' })
    await factoriesFor(app, tenant).user({ id: 'usr_last' })
    const messages = (await receiver.received(2)).map(({ body }) => JSON.parse(body))
    const byType = Object.fromEntries(messages.map((message) => [message.type, message]))
    expect(byType['user.updated']).toMatchObject({ changed_fields: ['email'], data: { changedFields: ['email'] } })
    expect(byType['user.created']).not.toHaveProperty('changed_fields')
    expect(byType['user.created'].data).not.toHaveProperty('changedFields')
    expect(receiver.messages).toHaveLength(2)
  })

  it('shows, changes and clears them, and rejects unknown ones', async () => {
    const client = webhookClient(app, tenant)
    const { id } = await client.create('https://example.com/', { eventTypes: ['USER_UPDATED'], fields: ['name'] })
    const shown = async () => {
      const query = 'query ($id: ID!) { webhook(id: $id) { fields } }'
      return (await app.graphql<{ webhook: { fields: string[] | null } }>(tenant, query, { id })).data.webhook.fields
    }
    expect(await shown()).toEqual(['name'])
    await mutate('updateWebhook', { id, description: 'x' })
    expect(await shown()).toEqual(['name'])
    await mutate('updateWebhook', { id, fields: ['email'] })
    expect(await shown()).toEqual(['email'])
    await mutate('updateWebhook', { id, fields: null })
    expect(await shown()).toBeNull()
    const query = `mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) { userErrors { code field } } }`
    const { data } = await app.graphql<{ updateWebhook: object }>(tenant, query, { input: { id, fields: ['nothing'] } })
    expect(data.updateWebhook).toEqual({ userErrors: [{ code: 'INVALID_FORMAT', field: ['fields'] }] })
  })
})
