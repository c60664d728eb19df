import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newJob, resultInput } from '../../src/domain/job/job.input.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { hasServer } from '../support/postgresql.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

/**
 * Sends a request to /graphql over a socket, and reads the response only if the test does. The body may be incomplete.
 */
async function sendRaw(gateway: TestApp, { key }: TestTenant, body: string, length = body.length, accept = '*/*') {
  const { port, hostname } = new URL(await addressOf(gateway))
  const socket = connect(Number(port), hostname)
  const received = once(gateway.app.server, 'request')
  const headers = [
    'host: x',
    `x-api-key: ${key}`,
    `accept: ${accept}`,
    'content-type: application/json',
    `content-length: ${length}`,
  ]
  socket.write(`POST /graphql HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
  await received
  return socket
}

/** Gives jobs of a tenant long payloads, also longer than a client can. They are not sent to the database. */
async function lengthen({ tenantAppId }: TestTenant, length: number, ids = '%') {
  await app.database.prisma.$executeRaw`
    UPDATE job SET payload = json_build_object('text', repeat('x', ${length}::int))
    WHERE tenant_app_id = ${tenantAppId} AND id LIKE ${ids}`
}

describe('what one request may create', () => {
  it('is a response of at most 8 MiB', async () => {
    await app.database.prisma.job.createMany({
      data: { tenantAppId: tenant.tenantAppId, id: 'job_long', payload: { text: 'x'.repeat(64_000) } },
    })
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { payload } } }'
    const ask = (count: number) => app.graphql(tenant, query, { ids: Array.from({ length: count }, () => 'job_long') })
    expect((await ask(100)).errors).toBeUndefined()
    expect((await ask(140)).errors).toMatchObject([
      {
        message: 'The response would be longer than 8 MiB. Request fewer rows or fields.',
        extensions: { code: 'TOO_EXPENSIVE' },
      },
    ])
  })

  it('reads at most 16 MiB, whatever of it the response would have', async () => {
    const mine = await app.createTenant()
    const job = { tenantAppId: mine.tenantAppId, jobType: 'long', maxAttempts: 3, runAt: new Date(0) }
    await app.database.prisma.job.createMany({
      data: [
        ...Array.from({ length: 60 }, (_, index) => ({ ...job, id: `job_${index}` })),
        ...Array.from({ length: 9 }, (_, index) => ({ ...job, jobType: 'longer', id: `longer_${index}` })),
      ],
    })
    await lengthen(mine, 2_000_000, 'longer_%')
    const ask = (first: number) =>
      app.graphql(mine, `{ jobs(first: ${first}, filter: { jobType: "longer" }) { nodes { payload } } }`)
    expect((await ask(2)).errors).toBeUndefined()
    const tooMuch = await ask(9)
    expect(tooMuch.errors?.[0]).toMatchObject({
      message: 'The operation reads more than 16 MiB. Request fewer rows or fields.',
      extensions: { code: 'TOO_EXPENSIVE' },
    })
    const claims = await app.graphql(
      mine,
      `mutation { ${['a', 'b'].map((alias) => `${alias}: claimJobs(input: { jobTypes: ["long"], limit: 60 }) { leases { job { id } } userErrors { field message } }`).join(' ')} }`,
    )
    expect(claims.data).toMatchObject({
      a: { leases: { length: 60 }, userErrors: [] },
      b: { leases: null, userErrors: [{ field: ['limit'], message: 'must add up to at most 100 in an operation' }] },
    })
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

describe('the rules of jobs', () => {
  it('accept payloads of 64 KiB and results of 256 KiB', () => {
    const ofLength = (length: number) => ({ text: 'x'.repeat(length - '{"text":""}'.length) })
    for (const [kib, accepts] of [
      [64, (payload: object) => newJob.safeParse({ jobType: 'x', payload }).success],
      [256, (result: object) => resultInput.safeParse({ result }).success],
    ] as const) {
      expect([accepts(ofLength(kib * 1_024)), accepts(ofLength(kib * 1_024 + 1))]).toEqual([true, false])
    }
  })
})

describe('what a key has at a time', () => {
  it('is at most a number of subscriptions', async () => {
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
    // The permit is free when the gateway has noticed that the client has gone.
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
      const response = await gateway.app.inject({
        method: 'POST',
        url: '/graphql',
        payload: { query },
        headers: { 'x-api-key': tenant.key, accept: 'application/json' },
      })
      expect(response.statusCode).toBe(406)
    }
    const events = await subscribe(address, tenant.key, query)
    expect(events.status).toBe(200)
    events.close()
    await gateway.close()
  })

  it('refuses a subscription whose result would be longer than 8 MiB', async () => {
    const address = await addressOf(app)
    const results = Array.from({ length: 40 }, (_, index) => `a${index}: result`).join(' ')
    const data = { tenantAppId: tenant.tenantAppId, id: 'job_result', result: { text: 'x'.repeat(250_000) } }
    await app.database.prisma.job.createMany({ data })
    const response = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: `subscription { job(id: "job_result") { ${results} } }` }),
    })
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'TOO_EXPENSIVE' } }] })
  })

  it('is at most a number of MiB of responses that its clients have not read', async () => {
    const gateway = await app.startAnother({ maxUnsentMibPerKey: 8 })
    const mine = await gateway.createTenant()
    await gateway.database.prisma.job.createMany({
      data: { tenantAppId: mine.tenantAppId, id: 'job_unsent', payload: { text: 'x'.repeat(64_000) } },
    })
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { payload } } }'
    const variables = { ids: Array.from({ length: 125 }, () => 'job_unsent') }
    const body = JSON.stringify({ query, variables })
    const address = await addressOf(gateway)
    const socket = await sendRaw(gateway, mine, body)
    await once(socket, 'readable')
    const send = () =>
      fetch(`${address}/graphql`, {
        method: 'POST',
        body,
        headers: { 'x-api-key': mine.key, 'content-type': 'application/json' },
      })
    const rejected = await send()
    const mutation = await gateway.graphql(mine, 'mutation { createJob(input: { jobType: "x" }) { job { id } } }')
    expect(mutation.errors).toBeUndefined()
    expect([rejected.status, await rejected.json()]).toMatchObject([
      429,
      {
        errors: [
          {
            message: expect.stringContaining('8 MiB of responses that its clients have not read'),
            extensions: { code: 'RATE_LIMITED' },
          },
        ],
      },
    ])
    socket.destroy()
    // The place is free when the gateway has noticed that the client has gone.
    let response = await send()
    while (response.status !== 200) response = await send()
    expect(JSON.stringify(await response.json()).length).toBeGreaterThan(7_000_000)
    await gateway.close()
  })

  it('includes the responses of mutations, which are sent however long they are', async () => {
    const gateway = await app.startAnother({ maxUnsentMibPerKey: 8 })
    const mine = await gateway.createTenant()
    await gateway.database.prisma.job.createMany({
      data: Array.from({ length: 100 }, (_, index) => ({
        tenantAppId: mine.tenantAppId,
        id: `job_${index}`,
        jobType: 'long',
        maxAttempts: 3,
        runAt: new Date(0),
      })),
    })
    await lengthen(mine, 164_000)
    const claim = 'mutation { claimJobs(input: { jobTypes: ["long"], limit: 100 }) { leases { job { payload } } } }'
    const body = JSON.stringify({ query: claim })
    const socket = await sendRaw(gateway, mine, body)
    await once(socket, 'readable')
    const rejected = await gateway.graphql(mine, '{ viewer { keyName } }')
    expect(rejected.errors?.[0]?.extensions['code']).toBe('RATE_LIMITED')
    await expect.poll(() => gateway.log.at(-1)).toMatchObject({ status: 429, limit: 'unsent_of_key' })
    socket.destroy()
    await expect.poll(async () => (await gateway.graphql(mine, '{ viewer { keyName } }')).errors).toBeUndefined()
    await gateway.close()
  })

  it('includes the events of subscriptions', async () => {
    // The kernel takes up to ten MiB of what a socket sends.
    const gateway = await app.startAnother({ maxUnsentMibPerKey: 2 })
    const mine = await gateway.createTenant()
    await gateway.database.prisma.job.createMany({
      data: { tenantAppId: mine.tenantAppId, id: 'job_event' },
    })
    await lengthen(mine, 7_500_000)
    const body = JSON.stringify({ query: 'subscription { job(id: "job_event") { payload } }' })
    const start = () => sendRaw(gateway, mine, body, body.length, 'text/event-stream')
    const sockets = [await start(), await start()]
    const ask = async () => (await gateway.graphql(mine, '{ viewer { keyName } }')).errors?.[0]?.extensions['code']
    // From the second event on. The first bytes of a response are its headers.
    await expect.poll(ask, { interval: 0 }).toBe('RATE_LIMITED')
    for (const socket of sockets) socket.destroy()
    await expect.poll(ask, { interval: 0 }).toBeUndefined()
    await gateway.close()
  })

  // The embedded database answers before Node notices that the client has gone.
  it.skipIf(!hasServer)('does not count requests whose client has gone during the lookup of the key', async () => {
    const load = { maxInFlight: 10, maxInFlightPerKey: 1, maxEventLoopDelayMilliseconds: 60_000 }
    const gateway = await app.startAnother({ load, keyCacheMilliseconds: 0 })
    const url = `${await addressOf(gateway)}/users/nobody`
    // One more than the permits of a key: one, and twice as many for requests that arrive.
    for (let count = 0; count < 4; count += 1) {
      gateway.app.server.once('request', ({ socket }) => socket.destroy())
      await expect(fetch(url, { headers: { 'x-api-key': tenant.key } })).rejects.toThrow()
    }
    expect((await gateway.rest(tenant, 'GET', '/users/nobody')).statusCode).toBe(404)
    await gateway.close()
  })

  it('counts requests whose bodies arrive, up to twice the number of requests', async () => {
    const load = { maxInFlight: 10, maxInFlightPerKey: 1, maxEventLoopDelayMilliseconds: 60_000 }
    const gateway = await app.startAnother({ load })
    const start = () => sendRaw(gateway, tenant, '{', 100)
    const sockets = [await start(), await start()]
    // They count when their key has been looked up.
    let rejected = await gateway.rest(tenant, 'GET', '/users/nobody')
    while (rejected.statusCode === 404) rejected = await gateway.rest(tenant, 'GET', '/users/nobody')
    expect([rejected.statusCode, rejected.json().code]).toEqual([429, 'RATE_LIMITED'])
    await expect.poll(() => gateway.log.at(-1)).toMatchObject({ status: 429, limit: 'arriving_of_key' })
    for (const socket of sockets) socket.destroy()
    let response = await gateway.rest(tenant, 'GET', '/users/nobody')
    while (response.statusCode !== 404) response = await gateway.rest(tenant, 'GET', '/users/nobody')
    await gateway.close()
  })

  it('does not count requests whose body has not arrived', async () => {
    const load = { maxInFlight: 1, maxInFlightPerKey: 1, maxEventLoopDelayMilliseconds: 60_000 }
    const gateway = await app.startAnother({ load })
    const socket = await sendRaw(gateway, tenant, '{', 100)
    for (let count = 0; count < 3; count += 1) {
      expect((await gateway.rest(tenant, 'GET', '/users/nobody')).statusCode).toBe(404)
    }
    socket.destroy()
    await gateway.close()
  })
})
