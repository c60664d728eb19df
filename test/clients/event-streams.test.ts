import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const jobQuery = 'subscription ($id: ID!) { job(id: $id) { id status } }'

/** A client that gives up at the first failure of the network. */
async function connect(key: string, gateway = app) {
  const url = `${await addressOf(gateway)}/graphql`
  return createClient({ url, retryAttempts: 0, headers: { 'x-api-key': key } })
}

const newJob = async () => (await factoriesFor(app, tenant).job()).id

const cancel = (id: string) =>
  app.graphql(tenant, 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { id } } }', { id })

const withStatus = (id: string, status: string) => ({ value: { data: { job: { id, status } } }, done: false })
const end = { value: undefined, done: true }

describe('graphql-sse', () => {
  it('receives the results of queries and of several subscriptions', async () => {
    const client = await connect(tenant.key)
    const ids = [await newJob(), await newJob()] as const
    const [first, second] = ids.map((id) => client.iterate({ query: jobQuery, variables: { id } }))
    expect(await first?.next()).toEqual(withStatus(ids[0], 'PENDING'))
    expect(await second?.next()).toEqual(withStatus(ids[1], 'PENDING'))
    const query = client.iterate({ query: '{ viewer { keyName } }' })
    const viewer = { keyName: `key of ${tenant.name}` }
    const cost = { requested: expect.any(Number) }
    expect((await query.next()).value).toMatchObject({ data: { viewer }, extensions: { cost } })
    expect(await query.next()).toEqual(end)
    await cancel(ids[1])
    expect(await second?.next()).toEqual(withStatus(ids[1], 'CANCELLED'))
    await cancel(ids[0])
    expect(await first?.next()).toEqual(withStatus(ids[0], 'CANCELLED'))
    // A finished job completes its subscription.
    for (const results of [first, second]) expect(await results?.next()).toEqual(end)
    client.dispose()
  })

  it('receives errors of documents, variables and resolvers with their codes', async () => {
    const client = await connect(tenant.key)
    for (const request of [
      { query: '{ unknown }' },
      { query: '{' },
      { query: jobQuery },
      { query: 'subscription { jobs(first: -1) { id } }' },
      { query: '{ users(first: -1) { nodes { id } } }' },
    ]) {
      const results = client.iterate(request)
      const { value } = await results.next()
      expect(value?.errors, request.query).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
      expect(await results.next()).toEqual(end)
    }
    client.dispose()
  })

  it('stops one subscription without the others, and releases its permit', async () => {
    const limited = await app.startAnother({ maxSubscriptionsPerKey: 2 })
    const client = await connect(tenant.key, limited)
    const [kept, left] = [await newJob(), await newJob()]
    const follow = (id: string) => client.iterate({ query: jobQuery, variables: { id } })
    const [keptResults, leftResults] = [follow(kept), follow(left)]
    await keptResults.next()
    await leftResults.next()
    await expect(follow(left).next()).rejects.toThrow('429')
    await leftResults.return?.()
    // The gateway learns a moment later that the client has gone.
    const retry = () =>
      follow(left)
        .next()
        .catch(() => undefined)
    while (!(await retry()));
    await cancel(kept)
    expect(await keptResults.next()).toEqual(withStatus(kept, 'CANCELLED'))
    client.dispose()
    await limited.close()
  })

  it('receives UNAUTHENTICATED instead of the next result when the key is revoked, and can start nothing more', async () => {
    const { key, row } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'streams' })
    const client = await connect(key)
    const id = await newJob()
    const results = client.iterate({ query: jobQuery, variables: { id } })
    await results.next()
    await revokeKey(app.database, row.id)
    await cancel(id)
    expect((await results.next()).value?.errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }])
    expect(await results.next()).toEqual(end)
    await expect(client.iterate({ query: '{ viewer { keyName } }' }).next()).rejects.toThrow('401')
    client.dispose()
  })
})

it('an event stream keeps its connection open with heartbeats', async () => {
  const aborted = new AbortController()
  const { body } = await fetch(`${await addressOf(app)}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-api-key': tenant.key },
    body: JSON.stringify({ query: jobQuery, variables: { id: await newJob() } }),
    signal: aborted.signal,
  })
  let text = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (/^:\n\nevent: next\ndata: .*\n\n(:\n\n){2}$/.test(text)) break
  }
  aborted.abort()
})
