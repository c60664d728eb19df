import { createClient as createSseClient } from 'graphql-sse'
import { createClient as createSocketClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { formatPosition, parsePosition } from '../../src/domain/event/position.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, settleEvents, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

// A client reads a query and follows what the query has not seen, by the position in the response.

let app: TestApp
let tenant: TestTenant
let make: ReturnType<typeof factoriesFor>
beforeAll(async () => {
  app = await startTestApp({ responseCacheBytes: 1024 * 1024 })
  tenant = await app.createTenant()
  make = factoriesFor(app, tenant)
})
afterAll(() => app.close())

const users = '{ users { nodes { id } } }'
const yes = { 'x-position': 'yes' }

function ask(query: string, headers: Record<string, string> = yes, payload: object = {}, key = tenant.key) {
  const sent = { 'x-api-key': key, ...headers }
  return app.app.inject({ method: 'POST', url: '/graphql', headers: sent, payload: { query, ...payload } })
}

async function positionOf(...asked: Parameters<typeof ask>): Promise<string> {
  const response = await ask(...asked)
  const { errors, extensions } = response.json()
  expect(errors).toBeUndefined()
  return extensions.position
}

/** The ids of the resources that have changed after a position. */
async function changedAfter(after: string, of = tenant): Promise<string[]> {
  await settleEvents(app)
  const query = 'query ($after: String) { events(first: 500, after: $after) { nodes { resourceId } } }'
  const { data, errors } = await app.graphql<{ events: { nodes: { resourceId: string }[] } }>(of, query, { after })
  expect(errors).toBeUndefined()
  return data.events.nodes.map(({ resourceId }) => resourceId)
}

async function createToken(scopes: readonly string[], userId?: string): Promise<string> {
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
    { input: { scopes, ...(userId !== undefined && { userId }) } },
  )
  return data.createAccessToken.accessToken
}

describe('the position of a query', () => {
  it('is sent on request, by a header or by extensions, and costs one statement', async () => {
    await make.user()
    const plain = (await ask(users, {})).json()
    expect(plain.extensions).not.toHaveProperty('position')
    expect((await ask(users, { 'x-position': 'no' })).json().extensions).not.toHaveProperty('position')
    const count = async (headers: Record<string, string>) =>
      (await app.statementsOf(() => ask(`query Counted${headers['x-position'] ?? ''} ${users}`, headers))).length
    expect(await count(yes)).toBe((await count({})) + 1)
    expect(await positionOf(users, {}, { extensions: { position: true } })).toMatch(/^evt_/)
    const search = new URLSearchParams({ query: users })
    const headers = { 'x-api-key': tenant.key, ...yes }
    const byGet = await app.app.inject({ url: `/graphql?${search}`, headers })
    expect(byGet.json().extensions.position).toMatch(/^evt_/)
  })

  it('is the place after which the log has what the query has not seen, and nothing else', async () => {
    const seen = await make.user()
    const position = await positionOf(users)
    expect(await changedAfter(position)).not.toContain(seen.id)
    const later = [await make.user(), await make.user()].map(({ id }) => id)
    expect(await changedAfter(position)).toEqual(later)
    const stream = await subscribe(
      await addressOf(app),
      tenant.key,
      'subscription ($after: ID) { events(after: $after) { resourceId } }',
      { after: position },
    )
    for (const id of later)
      expect(await stream.next()).toMatchObject({ data: { data: { events: { resourceId: id } } } })
    stream.close()
  })

  it('belongs to a response from the memory too', async () => {
    const query = `query Kept ${users}`
    for (let time = 0; time < 3; time += 1) await ask(query)
    const response = await ask(query)
    expect(response.headers['cache-status']).toBe('fusion; hit')
    const position = response.json().extensions.position
    const later = await make.user()
    expect(await changedAfter(position)).toEqual([later.id])
    expect(await positionOf(query)).not.toBe(position)
  })

  it('is one in a tenant without events, and after all events were removed', async () => {
    const own = await app.createTenant()
    const empty = await positionOf(users, yes, {}, own.key)
    expect(await changedAfter(empty, own)).toEqual([])
    const user = await factoriesFor(app, own).user()
    expect(await changedAfter(empty, own)).toEqual([user.id])
    await app.database.prisma.event.deleteMany({ where: { tenantAppId: own.tenantAppId } })
    const removedTo = `evt_${'0'.repeat(11)}1${'0'.repeat(12)}`
    await app.database.prisma.tenantApp.update({ where: { id: own.tenantAppId }, data: { eventsRemovedTo: removedTo } })
    expect(await positionOf(users, yes, {}, own.key)).toBe(removedTo)
  })

  it('is not in a response without the scope events:read', async () => {
    const authorization = `Bearer ${await createToken(['users:read'])}`
    const headers = { authorization, ...yes }
    const response = await app.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query: users } })
    const { data, errors, extensions } = response.json()
    expect(data.users).not.toBeNull()
    expect(errors).toBeUndefined()
    expect(extensions).not.toHaveProperty('position')
  })

  it('tells the user of a token nothing about others, and is followed by the changes of this user', async () => {
    const [own, other] = [await make.user(), await make.user()]
    const authorization = `Bearer ${await createToken(['users:read', 'events:read'], own.id)}`
    const read = async () =>
      app.app.inject({ method: 'POST', url: '/graphql', headers: { authorization, ...yes }, payload: { query: users } })
    const { position } = (await read()).json().extensions
    const { id: last } = await app.database.prisma.event.findFirstOrThrow({
      where: { tenantAppId: tenant.tenantAppId },
      orderBy: { id: 'desc' },
    })
    expect(parsePosition(position)?.last).not.toBe(last)
    expect(parsePosition(position)?.last).toMatch(/f{12}$/)
    await make.account(other.id)
    const account = await make.account(own.id)
    await settleEvents(app)
    const query = `{ events(after: "${position}") { nodes { resourceId } } }`
    const response = await app.app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { authorization },
      payload: { query },
    })
    expect(response.json().data.events.nodes).toEqual([{ resourceId: account.id }])
  })

  it('is not one of a mutation or of a query that is not executed', async () => {
    const mutation = 'mutation { updateUser(input: { id: "usr_missing", name: "A" }) { userErrors { code } } }'
    expect((await ask(mutation)).json().extensions).not.toHaveProperty('position')
    expect((await ask('{ missing }')).json()).not.toHaveProperty('extensions.position')
  })

  it.each([
    ['the header', { 'x-position': 'true' }, {}, 'The header x-position must be yes or no.'],
    ['the extension', {}, { extensions: { position: 'yes' } }, 'extensions.position must be true or false.'],
  ])('is refused for another value of %s', async (_, headers, payload, message) => {
    const response = await ask(users, headers as Record<string, string>, payload)
    expect(response.statusCode).toBe(400)
    expect(response.json().errors).toMatchObject([{ message, extensions: { code: 'MALFORMED_REQUEST' } }])
  })

  it('belongs to each query of a batch', async () => {
    const batching = await app.startAnother({ batching: true })
    onTestFinished(() => batching.close())
    const send = (headers: Record<string, string>, payload: object[]) =>
      batching.app.inject({
        method: 'POST',
        url: '/graphql',
        headers: { 'x-api-key': tenant.key, ...headers },
        payload,
      })
    const both = (await send(yes, [{ query: users }, { query: users }])).json()
    expect(both.map((result: { extensions: object }) => 'position' in result.extensions)).toEqual([true, true])
    const one = (await send({}, [{ query: users }, { query: users, extensions: { position: true } }])).json()
    expect(one.map((result: { extensions: object }) => 'position' in result.extensions)).toEqual([false, true])
  })

  it('may be asked for by pages of other origins', async () => {
    const open = await app.startAnother({ corsOrigins: ['https://app.example.com'] })
    onTestFinished(() => open.close())
    const headers = {
      origin: 'https://app.example.com',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-position',
    }
    const response = await open.app.inject({ method: 'OPTIONS', url: '/graphql', headers })
    expect(response.headers['access-control-allow-headers']).toContain('x-position')
  })
})

const subscription = 'subscription ($after: ID) { events(after: $after) { resourceId } }'

describe('the first message of subscription { events }', () => {
  it('has the position with the first event, and the others have none', async () => {
    const stream = await subscribe(await addressOf(app), tenant.key, subscription)
    const [one, other] = [await make.user(), await make.user()]
    const messages = [await stream.next(), await stream.next()].map((event) => event?.data) as {
      data: { events: { resourceId: string } }
      extensions?: { position: string }
    }[]
    stream.close()
    expect(messages.map(({ data }) => data.events.resourceId)).toEqual([one.id, other.id])
    expect(messages.map(({ extensions }) => extensions !== undefined)).toEqual([true, false])
    expect(await changedAfter(messages[0]?.extensions?.position ?? '')).toEqual([one.id, other.id])
  })

  it('has the position at once on request, without data, over server-sent events', async () => {
    const client = createSseClient({
      url: `${await addressOf(app)}/graphql`,
      headers: { 'x-api-key': tenant.key, ...yes },
    })
    onTestFinished(() => client.dispose())
    const stream = client.iterate({ query: subscription })
    const { value: first } = await stream.next()
    expect(first).toEqual({ data: null, extensions: { position: expect.stringMatching(/^evt_/) } })
    const user = await make.user()
    expect((await stream.next()).value).toEqual({ data: { events: { resourceId: user.id } } })
    expect(await changedAfter(first.extensions.position)).toEqual([user.id])
    await stream.return?.()
  })

  it('has the position at once on request, over a WebSocket', async () => {
    const url = `${(await addressOf(app)).replace('http', 'ws')}/graphql`
    const connectionParams = { 'x-api-key': tenant.key }
    const client = createSocketClient({ url, webSocketImpl: WebSocket, connectionParams })
    onTestFinished(() => client.dispose())
    const stream = client.iterate({ query: subscription, extensions: { position: true } })
    const { value: first } = await stream.next()
    expect(first).toEqual({ data: null, extensions: { position: expect.stringMatching(/^evt_/) } })
    const user = await make.user()
    expect((await stream.next()).value).toEqual({ data: { events: { resourceId: user.id } } })
    await stream.return?.()
    const query = client.iterate({ query: users, extensions: { position: true } })
    expect((await query.next()).value?.extensions).toMatchObject({ position: expect.stringMatching(/^evt_/) })
  })

  it('has the position at once on request, in the multipart protocol', async () => {
    const response = await fetch(`${await addressOf(app)}/graphql`, {
      method: 'POST',
      headers: {
        accept: 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0',
        'content-type': 'application/json',
        'x-api-key': tenant.key,
        ...yes,
      },
      body: JSON.stringify({ query: subscription }),
    })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('"position"')) text += (await reader?.read())?.value
    expect(text).toContain('{"payload":{"data":null,"extensions":{"position":"evt_')
    await reader?.cancel()
  })

  it('has the position from which the client continues', async () => {
    const position = await positionOf(users)
    const stream = await subscribe(await addressOf(app), tenant.key, subscription, { after: position })
    const user = await make.user()
    const event = await stream.next()
    expect(event?.data).toEqual({ data: { events: { resourceId: user.id } }, extensions: { position } })
    stream.close()
  })
})

describe('a position', () => {
  const last = `evt_0000000003e8${'0'.repeat(11)}7`
  const running = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => `evt_${(from + index).toString(16).padStart(12, '0')}`)

  it('is the id of an event, with the distances of transactions that had not ended', () => {
    expect(formatPosition({ last, running: [] })).toBe(last)
    const position = { last, running: ['evt_0000000003c4', 'evt_0000000003e7'] }
    expect(formatPosition(position)).toBe(`${last}~10.1`)
    expect(parsePosition(`${last}~10.1`)).toEqual(position)
    expect(parsePosition(last)).toEqual({ last, running: [] })
  })

  it('is before the transactions that it cannot name, if they are more than 100', () => {
    const position = parsePosition(formatPosition({ last, running: running(700, 150) }))
    expect(position?.running).toEqual(running(700, 100))
    expect(position?.last).toBe(`evt_${(799).toString(16).padStart(12, '0')}${'f'.repeat(12)}`)
    expect(formatPosition({ last, running: running(700, 150) }).length).toBeLessThan(400)
  })

  it.each([
    '',
    'usr_1',
    `${last}~`,
    `${last}~1~2`,
    `${last}~-1`,
    `${last}~zzzzzzzzzzz`,
    `${last}~zzzz`,
    `${last}~0.0.0`,
    `${last}~1.10`,
    `${last}~${'1.'.repeat(100)}1`,
  ])('is no text such as "%s"', async (text) => {
    expect(parsePosition(text)).toBeUndefined()
    const { errors } = await app.graphql(tenant, 'query ($after: String) { events(after: $after) { nodes { id } } }', {
      after: text,
    })
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
  })

  it.each([`evt_${'f'.repeat(24)}~1`, `evt_${'f'.repeat(24)}`])(
    'is rejected by the subscription and the query if the log has not reached it: %s',
    async (after) => {
      const stream = await subscribe(await addressOf(app), tenant.key, subscription, { after })
      const [ofSubscription] = (await stream.next())?.data?.errors ?? []
      stream.close()
      const query = 'query ($after: String) { events(after: $after) { nodes { id } } }'
      const [ofQuery] = (await app.graphql(tenant, query, { after })).errors ?? []
      expect(ofQuery?.extensions).toEqual(ofSubscription?.extensions)
      expect(ofQuery?.extensions['code']).toBe('BAD_USER_INPUT')
    },
  )
})
