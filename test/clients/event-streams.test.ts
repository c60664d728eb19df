import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let url: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  url = `${await addressOf(app)}/graphql/stream`
})
afterAll(() => app.close())

const jobQuery = 'subscription ($id: ID!) { job(id: $id) { id status } }'

/** A client that counts the connections on which it receives results, and gives up at the first failure of the network. */
function connect(key: string, address = url) {
  const requests: string[] = []
  const client = createClient({
    ...{ url: address, singleConnection: true, retryAttempts: 0, headers: () => ({ 'x-api-key': key }) },
    fetchFn: (input: string, init: RequestInit) => {
      requests.push(init.method ?? 'GET')
      return fetch(input, init)
    },
  })
  return { client, requests }
}

async function newKey() {
  return createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'streams' })
}

const newJob = async () => (await factoriesFor(app, tenant).job()).id

const cancel = (id: string) =>
  app.graphql(tenant, 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { id } } }', { id })

const withStatus = (id: string, status: string) => ({ value: { data: { job: { id, status } } }, done: false })

describe('graphql-sse with a single connection', () => {
  it('receives the results of several operations on one connection', async () => {
    const { client, requests } = connect(tenant.key)
    const ids = [await newJob(), await newJob()] as const
    const [first, second] = ids.map((id) => client.iterate({ query: jobQuery, variables: { id } }))
    expect(await first?.next()).toEqual(withStatus(ids[0], 'PENDING'))
    expect(await second?.next()).toEqual(withStatus(ids[1], 'PENDING'))
    const query = client.iterate({ query: '{ viewer { keyName } }' })
    const viewer = { keyName: `key of ${tenant.name}` }
    const cost = { requested: expect.any(Number) }
    expect((await query.next()).value).toMatchObject({ data: { viewer }, extensions: { cost } })
    expect(await query.next()).toEqual({ value: undefined, done: true })
    await cancel(ids[1])
    expect(await second?.next()).toEqual(withStatus(ids[1], 'CANCELLED'))
    await cancel(ids[0])
    expect(await first?.next()).toEqual(withStatus(ids[0], 'CANCELLED'))
    // A finished job completes its subscription.
    for (const results of [first, second]) expect(await results?.next()).toEqual({ value: undefined, done: true })
    expect(requests.filter((method) => method === 'GET')).toEqual(['GET'])
    client.dispose()
  })

  it('receives errors of documents, variables and resolvers with their codes, and uses the connection again', async () => {
    const { client, requests } = connect(tenant.key)
    const open = client.iterate({ query: jobQuery, variables: { id: await newJob() } })
    await open.next()
    for (const request of [
      { query: '{ unknown }' },
      { query: '{' },
      { query: jobQuery },
      { query: 'subscription { jobs(first: 0) { id } }' },
      { query: '{ users(first: 0) { nodes { id } } }' },
    ]) {
      const results = client.iterate(request)
      const { value } = await results.next()
      expect(value?.errors, request.query).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
      expect(await results.next()).toEqual({ value: undefined, done: true })
    }
    expect(requests.filter((method) => method === 'GET')).toEqual(['GET'])
    client.dispose()
  })

  it('stops one subscription without the others', async () => {
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 2 })
    const { client, requests } = connect(tenant.key, `${await addressOf(limited)}/graphql/stream`)
    const [kept, left] = [await newJob(), await newJob()]
    const keptResults = client.iterate({ query: jobQuery, variables: { id: kept } })
    const leftResults = client.iterate({ query: jobQuery, variables: { id: left } })
    await keptResults.next()
    await leftResults.next()
    const refused = client.iterate({ query: jobQuery, variables: { id: left } })
    expect((await refused.next()).value?.errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }])
    await leftResults.return?.()
    // The client does not wait for the answer to its DELETE.
    const another = async () => {
      const results = client.iterate({ query: jobQuery, variables: { id: left } })
      const { value } = await results.next()
      return value?.errors ? undefined : results
    }
    let results = await another()
    while (!results) results = await another()
    expect(requests).toContain('DELETE')
    await cancel(kept)
    expect(await keptResults.next()).toEqual(withStatus(kept, 'CANCELLED'))
    client.dispose()
    await limited.close()
  })

  it('receives UNAUTHENTICATED instead of the next result when the key is revoked, and can start nothing more', async () => {
    const { key, row } = await newKey()
    const { client } = connect(key)
    const id = await newJob()
    const results = client.iterate({ query: jobQuery, variables: { id } })
    const other = client.iterate({ query: jobQuery, variables: { id: await newJob() } })
    await results.next()
    await other.next()
    await revokeKey(app.database, row.id)
    await cancel(id)
    expect((await results.next()).value?.errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }])
    expect(await results.next()).toEqual({ value: undefined, done: true })
    await expect(client.iterate({ query: '{ viewer { keyName } }' }).next()).rejects.toThrow('401')
    client.dispose()
  })

  it('frees the slots of a client that has gone', async () => {
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 1 })
    const address = await addressOf(limited)
    const { client } = connect(tenant.key, `${address}/graphql/stream`)
    await client.iterate({ query: jobQuery, variables: { id: await newJob() } }).next()
    client.dispose()
    // The gateway learns a moment later that the client has gone.
    const headers = { 'x-api-key': tenant.key }
    while ((await fetch(`${address}/graphql/stream`, { method: 'PUT', headers })).status === 429);
    const events = await subscribe(address, tenant.key, jobQuery, { id: await newJob() })
    expect(events.status).toBe(200)
    events.close()
    await limited.close()
  })

  it('is completed when the gateway stops', async () => {
    const stopping = await app.startAnother({})
    const { client } = connect(tenant.key, `${await addressOf(stopping)}/graphql/stream`)
    const results = client.iterate({ query: jobQuery, variables: { id: await newJob() } })
    await results.next()
    const closed = stopping.close()
    expect(await results.next()).toEqual({ value: undefined, done: true })
    await closed
  })
})

describe('a reserved event stream', () => {
  const headersFor = (key: string, token: string) => ({ 'x-api-key': key, 'x-graphql-event-stream-token': token })
  const reserve = async (key = tenant.key, from = app) => {
    const answer = await from.app.inject({ method: 'PUT', url: '/graphql/stream', headers: { 'x-api-key': key } })
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([201, 'text/plain; charset=utf-8'])
    return answer.body
  }
  const post = (key: string, token: string, payload: object, from = app) =>
    from.app.inject({ method: 'POST', url: '/graphql/stream', headers: headersFor(key, token), payload })
  const operation = (operationId: string, query = '{ viewer { keyName } }') => ({ query, extensions: { operationId } })

  it('belongs to the viewer that reserved it', async () => {
    const token = await reserve()
    const { key } = await newKey()
    const foreign = await post(key, token, operation('1'))
    const unknown = await post(key, 'unknown', operation('1'))
    expect([foreign.statusCode, foreign.body]).toEqual([404, unknown.body])
    expect(foreign.json()).toMatchObject({ errors: [{ extensions: { code: 'NOT_FOUND' } }] })
    for (const method of ['GET', 'DELETE'] as const) {
      const url = '/graphql/stream?operationId=1'
      const headers = { ...headersFor(key, token), accept: 'text/event-stream' }
      expect((await app.app.inject({ method, url, headers })).statusCode).toBe(404)
    }
    expect((await post(tenant.key, token, operation('1'))).statusCode).toBe(202)
  })

  it('ends within five seconds after the key was revoked, also if no operation is running', async () => {
    const gateway = await app.startAnother({ keyCacheMilliseconds: 3_000 })
    const { key, row } = await newKey()
    const address = `${await addressOf(gateway)}/graphql/stream`
    const headers = headersFor(key, await reserve(key, gateway))
    const stream = await fetch(address, { headers: { ...headers, accept: 'text/event-stream' } })
    await revokeKey(app.database, row.id)
    const revokedAt = performance.now()
    await stream.text()
    expect(performance.now() - revokedAt).toBeLessThan(5_000)
    await gateway.close()
  })

  it('of a token stays when the token is renewed, and is not that of another user', async () => {
    const create = factoriesFor(app, tenant)
    const [mine, other] = [await create.user(), await create.user()]
    const tokenOf = async (userId: string) => {
      const mutation = `mutation { createAccessToken(input: { userId: "${userId}" }) { accessToken } }`
      const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(tenant, mutation)
      return { authorization: `Bearer ${data.createAccessToken.accessToken}` }
    }
    const reserved = await app.app.inject({ method: 'PUT', url: '/graphql/stream', headers: await tokenOf(mine.id) })
    const send = async (userId: string, operationId: string) => {
      const headers = { ...(await tokenOf(userId)), 'x-graphql-event-stream-token': reserved.body }
      const payload = operation(operationId)
      return (await app.app.inject({ method: 'POST', url: '/graphql/stream', headers, payload })).statusCode
    }
    expect([await send(mine.id, '1'), await send(other.id, '2')]).toEqual([202, 404])
  })

  it('needs a key', async () => {
    for (const method of ['PUT', 'GET', 'POST', 'DELETE'] as const) {
      expect((await app.app.inject({ method, url: '/graphql/stream' })).statusCode).toBe(401)
    }
  })

  it('keeps results until it is opened, also with the token in the URL, and is opened once', async () => {
    const token = await reserve()
    expect((await post(tenant.key, token, operation('early'))).statusCode).toBe(202)
    const headers = { 'x-api-key': tenant.key, accept: 'text/event-stream' }
    const aborted = new AbortController()
    const opened = await fetch(`${url}?token=${token}`, { headers, signal: aborted.signal })
    expect(opened.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    let text = ''
    for await (const chunk of opened.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (text.includes('event: complete')) break
    }
    expect(text).toMatch(/^event: next\ndata: \{"id":"early","payload":\{"data":/)
    expect(text).toContain('event: complete\ndata: {"id":"early"}\n\n')
    aborted.abort()
    const again = await app.app.inject({ url: `/graphql/stream?token=${await openOnce()}`, headers })
    expect([again.statusCode, again.json().errors[0].extensions.code]).toEqual([409, 'STREAM_IN_USE'])

    async function openOnce() {
      const second = await reserve()
      await fetch(`${url}?token=${second}`, { headers })
      return second
    }
  })

  it('answers no further operation while its client does not read', async () => {
    const token = await reserve()
    const payload = { text: 'x'.repeat(60_000) }
    for (let run = 0; run < 5; run += 1) await factoriesFor(app, tenant).job({ jobType: 'long', payload })
    const query = '{ jobs(filter: { jobType: "long" }) { nodes { payload } } }'
    let isAnswered = false
    const send = (sent: object) =>
      post(tenant.key, token, sent).then(({ statusCode }) => {
        isAnswered = true
        return statusCode
      })
    const answered = [send(operation('long', query))]
    // Takes longer than to execute the operation.
    for (let run = 0; run < 3; run += 1) await app.graphql(tenant, query)
    answered.push(send(operation('short')))
    for (let run = 0; run < 3; run += 1) await app.graphql(tenant, query)
    expect(isAnswered).toBe(false)
    const headers = { ...headersFor(tenant.key, token), accept: 'text/event-stream' }
    const aborted = new AbortController()
    const { body } = await fetch(url, { headers, signal: aborted.signal })
    const reading = body?.pipeTo(new WritableStream()).catch(() => undefined)
    expect(await Promise.all(answered)).toEqual([202, 202])
    aborted.abort()
    await reading
  })

  it('rejects two running operations with the same id, and operations without one', async () => {
    const token = await reserve()
    const follow = operation('same', 'subscription { jobs { id } }')
    expect((await post(tenant.key, token, follow)).statusCode).toBe(202)
    expect((await post(tenant.key, token, follow)).json().errors[0].extensions.code).toBe('STREAM_IN_USE')
    const headers = headersFor(tenant.key, token)
    const url = '/graphql/stream?operationId=same'
    expect((await app.app.inject({ method: 'DELETE', url, headers })).statusCode).toBe(200)
    expect((await post(tenant.key, token, follow)).statusCode).toBe(202)
    for (const payload of [{ query: '{ viewer { keyName } }' }, { ...follow, extensions: { operationId: 1 } }, []]) {
      expect((await post(tenant.key, token, payload)).statusCode).toBe(400)
    }
  })

  it('expires', async () => {
    const hasty = await app.startAnother({ streams: { reservationMilliseconds: 1 }, maxSubscriptionsPerKey: 1 })
    const token = await reserve(tenant.key, hasty)
    let runs = 0
    while ((await post(tenant.key, token, operation(`${runs}`), hasty)).statusCode !== 404) runs += 1
    await reserve(tenant.key, hasty)
    await hasty.close()
  })

  it('ends when the gateway stops, after its operations are completed', async () => {
    const stopping = await app.startAnother({})
    const token = await reserve(tenant.key, stopping)
    await reserve(tenant.key, stopping)
    const headers = { ...headersFor(tenant.key, token), accept: 'text/event-stream' }
    const { body } = await fetch(`${await addressOf(stopping)}/graphql/stream`, { headers })
    await post(tenant.key, token, operation('open', 'subscription { jobs { id } }'), stopping)
    const [text] = await Promise.all([new Response(body).text(), stopping.close()])
    expect(text).toMatch(/event: complete\ndata: \{"id":"open"\}\n\n$/)
  })

  it('is refused when the key has as many as it may have', async () => {
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 2 })
    const { key } = await newKey()
    for (let run = 0; run < 2; run += 1) await reserve(key, limited)
    const headers = { 'x-api-key': key }
    const refused = await limited.app.inject({ method: 'PUT', url: '/graphql/stream', headers })
    expect([refused.statusCode, refused.json().errors[0].extensions.code]).toEqual([429, 'RATE_LIMITED'])
    await reserve(tenant.key, limited)
    await limited.close()
  })

  it('sends heartbeats', async () => {
    const lively = await app.startAnother({ streams: { heartbeatMilliseconds: 5 } })
    const token = await reserve(tenant.key, lively)
    const headers = { ...headersFor(tenant.key, token), accept: 'text/event-stream' }
    const { body } = await fetch(`${await addressOf(lively)}/graphql/stream`, { headers })
    let text = ''
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (text.length >= 9) break
    }
    expect(text).toMatch(/^(:\n\n){3,}$/)
    await lively.close()
  })
})
