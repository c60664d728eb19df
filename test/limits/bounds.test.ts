import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

describe('what one request may create', () => {
  it('is an answer of at most 8 MiB', async () => {
    await app.database.prisma.job.create({
      data: { tenantAppId: tenant.tenantAppId, id: 'job_long', payload: { text: 'x'.repeat(64_000) } },
    })
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { payload } } }'
    const ask = (count: number) => app.graphql(tenant, query, { ids: Array.from({ length: count }, () => 'job_long') })
    expect((await ask(100)).errors).toBeUndefined()
    expect((await ask(140)).errors).toMatchObject([
      {
        message: 'The answer would be longer than 8 MiB. Request fewer rows or fields.',
        extensions: { code: 'TOO_EXPENSIVE' },
      },
    ])
  })

  it('has lists of at most 1,000 entries in its variables, also within objects', async () => {
    const ids = Array.from({ length: 1_001 }, (_, index) => `usr_${index}`)
    const nodes = await app.graphql(tenant, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })
    expect(nodes.errors).toMatchObject([
      {
        message: 'Variable "$ids" got an invalid value at "ids"; a list may have at most 1000 entries.',
        extensions: { code: 'BAD_USER_INPUT' },
      },
    ])
    const emails = ids.map((id) => ({ value: `${id}@example.com` }))
    const mutation = 'mutation ($input: SyncProfileInput!) { syncProfile(input: $input) { userErrors { code } } }'
    const synced = await app.graphql(tenant, mutation, { input: { accountId: 'acc_1', emails } })
    expect(synced.errors?.[0]?.message).toContain('at "input.emails"')
  })

  it('has at most 20,000 values', async () => {
    const send = (count: number) =>
      app.rest(tenant, 'POST', '/users', { name: 'Ada', more: Array.from({ length: count }, () => 0) })
    expect((await send(20_000)).json()).toMatchObject({
      code: 'MALFORMED_REQUEST',
      detail: 'The body has more than 20000 values.',
    })
    expect((await send(19_900)).json()).not.toMatchObject({ code: 'MALFORMED_REQUEST' })
  })

  it('is a payload of at most 64 KiB', async () => {
    const mutation =
      'mutation ($payload: JSONObject) { createJob(input: { jobType: "x", payload: $payload }) { userErrors { code message } } }'
    const create = (length: number) => app.graphql(tenant, mutation, { payload: { text: 'x'.repeat(length) } })
    expect(await create(64 * 1_024 - 11)).toMatchObject({ data: { createJob: { userErrors: [] } } })
    expect(await create(64 * 1_024 - 10)).toMatchObject({
      data: {
        createJob: {
          userErrors: [{ code: 'TOO_LONG', message: 'must have at most 64 KiB and be nested at most 64 levels deep' }],
        },
      },
    })
  })
})

describe('what a key has at a time', () => {
  it('is at most the number of subscriptions in MAX_SUBSCRIPTIONS_PER_KEY', async () => {
    const gateway = await app.startAnother({ maxSubscriptionsPerKey: 2 })
    const address = await addressOf(gateway)
    const start = () => subscribe(address, tenant.key, 'subscription { jobs { id } }')
    const first = await start()
    const second = await start()
    for (const { next } of [first, second]) expect(await next()).toMatchObject({ event: 'next' })
    const third = await start()
    expect(third.status).toBe(429)
    expect(third.headers.get('retry-after')).toBe('1')
    first.close()
    // The slot is free when the gateway has noticed that the client has gone.
    let again = await start()
    while (again.status !== 200) again = await start()
    expect(await again.next()).toMatchObject({ event: 'next' })
    for (const { close } of [second, again]) close()
    await gateway.close()
  })

  it('does not count subscriptions that were never read, because the client accepts no events', async () => {
    const gateway = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    const address = await addressOf(gateway)
    const query = 'subscription { jobs { id } }'
    for (let count = 0; count < 3; count += 1) {
      const answer = await gateway.app.inject({
        ...{ method: 'POST', url: '/graphql', payload: { query } },
        headers: { 'x-api-key': tenant.key, accept: 'application/json' },
      })
      expect(answer.statusCode).toBe(406)
    }
    const events = await subscribe(address, tenant.key, query)
    expect(events.status).toBe(200)
    events.close()
    await gateway.close()
  })

  it('ends a subscription with an event that would be longer than 8 MiB', async () => {
    const address = await addressOf(app)
    const payloads = Array.from({ length: 60 }, (_, index) => `a${index}: payload`).join(' ')
    for (const id of ['job_long_2', 'job_long_3']) {
      const data = { tenantAppId: tenant.tenantAppId, id, payload: { text: 'x'.repeat(64_000) } }
      await app.database.prisma.job.create({ data })
    }
    const events = await subscribe(address, tenant.key, `subscription { jobs { ${payloads} } }`)
    expect((await events.next())?.data?.errors?.[0]?.extensions['code']).toBe('TOO_EXPENSIVE')
    expect(await events.next()).toMatchObject({ event: 'complete' })
    events.close()
  })

  it('does not count requests whose body has not arrived', async () => {
    const load = { maxInFlight: 1, maxInFlightPerKey: 1, maxEventLoopDelayMilliseconds: 60_000 }
    const gateway = await app.startAnother({ load })
    const address = new URL(await addressOf(gateway))
    const socket = connect(Number(address.port), address.hostname)
    const received = once(gateway.app.server, 'request')
    socket.write(
      `POST /graphql HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.key}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    )
    await received
    for (let count = 0; count < 3; count += 1) {
      expect((await gateway.rest(tenant, 'GET', '/users/nobody')).statusCode).toBe(404)
    }
    socket.destroy()
    await gateway.close()
  })
})
