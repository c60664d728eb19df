import { RequestError } from '@fusion-gateway/client'
import { createSend, follow, type Send } from '@fusion-gateway/client/fetch'
import { createTokenHandler } from '@fusion-gateway/client/server'
import { createTokens } from '@fusion-gateway/client/tokens'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createKey, revokeKey } from '../../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../../../test/support/app.ts'
import { settleEvents } from '../../../test/support/events.ts'
import { factoriesFor } from '../../../test/support/factories.ts'
import { startProxy, type TcpProxy } from '../../../test/support/proxy.ts'
import type { ClientOptions } from '../src/core.ts'

let app: TestApp
let tenant: TestTenant
let gateway: TestApp
let proxy: TcpProxy
let url: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  proxy = await startProxy(0)
  url = `http://127.0.0.1:${proxy.port}/graphql`
  await startGateway()
})
afterAll(async () => {
  await gateway.close()
  await proxy.close()
  await app.close()
})

/** Starts a gateway, to which the proxy connects further clients. */
async function startGateway(): Promise<void> {
  gateway = await app.startAnother({})
  const address = await gateway.app.listen({ port: 0, host: '127.0.0.1' })
  proxy.retarget(Number(new URL(address).port))
}

/** A page of a person whose key can be replaced, which ends the tokens of the old one. */
async function openPage(options: Partial<ClientOptions> = {}) {
  const newKey = () => createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'backend' })
  let apiKey = await newKey()
  let isSignedIn = true
  let requests = 0
  const scopes = ['users:read', 'jobs:read', 'events:read']
  const send = createSend({
    url,
    token: createTokens({
      fetchToken() {
        requests += 1
        const inputFor = async () => (isSignedIn ? { scopes } : undefined)
        return createTokenHandler({ url, apiKey: apiKey.key, inputFor })(new Request(url))
      },
    }),
    ...options,
  })
  onTestFinished(() => send.close())
  return {
    send,
    tokenRequests: () => requests,
    async replaceKey() {
      const old = apiKey
      apiKey = await newKey()
      await revokeKey(app.database, old.row.id)
    },
    signOut() {
      isSignedIn = false
    },
  }
}

const followJob = 'subscription Follow($id: ID!) { job(id: $id) { id status } }'
const newJob = async () => (await factoriesFor(app, tenant).job()).id
const cancel = (id: string) =>
  app.graphql(tenant, 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { id } } }', { id })

/** Follows jobs. `next` resolves with the next state of each, and with undefined at the end. */
function followJobs(send: Send, ids: readonly string[]) {
  const all = ids.map((id) => follow<{ job: { status: string } }>(send, followJob, { id }))
  return { next: () => Promise.all(all.map(async (results) => (await results.next()).value?.data.job.status)) }
}

describe.each(['socket', 'stream'] as const)('subscriptions by %s', (transport) => {
  it('go on with a token that is renewed once for all, each time theirs ends', async () => {
    const { send, replaceKey, tokenRequests } = await openPage({ transport })
    const ids = [await newJob(), await newJob(), await newJob()]
    const { next } = followJobs(send, ids)
    expect(await next()).toEqual(Array(3).fill('PENDING'))
    for (const renewals of [1, 2]) {
      await replaceKey()
      expect(await next()).toEqual(Array(3).fill('PENDING'))
      expect(tokenRequests()).toBe(1 + renewals)
    }
    for (const id of ids) await cancel(id)
    expect(await next()).toEqual(Array(3).fill('CANCELLED'))
    expect(await next()).toEqual(Array(3).fill(undefined))
  })

  it('renew a token that is rejected when they connect', async () => {
    const { send, replaceKey } = await openPage({ transport })
    await send('{ viewer { keyName } }')
    await replaceKey()
    expect(await followJobs(send, [await newJob()]).next()).toEqual(['PENDING'])
  })

  it('fail when the session has ended, which the page learns', async () => {
    const onSignedOut = vi.fn()
    const { send, replaceKey, signOut } = await openPage({ transport, onSignedOut })
    const { next } = followJobs(send, [await newJob(), await newJob()])
    await next()
    signOut()
    await replaceKey()
    await expect(next()).rejects.toMatchObject({ isSignedOut: true })
    expect(onSignedOut).toHaveBeenCalledOnce()
  })

  it('fail with the key of a server that was revoked', async () => {
    const { key, row } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'server' })
    const send = createSend({ url, apiKey: key, transport })
    const { next } = followJobs(send, [await newJob()])
    await next()
    await revokeKey(app.database, row.id)
    const error = await next().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
  })

  it('fail with what the gateway says about their document', async () => {
    const { send } = await openPage({ transport })
    const results = follow(send, 'subscription { unknown }')
    const error = await results.next().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RequestError)
    expect(error).toMatchObject({ message: expect.stringContaining('unknown') })
  })

  it('end when they are given up', async () => {
    const { send } = await openPage({ transport })
    const given = new AbortController()
    const id = await newJob()
    const results = follow(send, followJob, { id }, { signal: given.signal })
    await results.next()
    const ended = results.next()
    given.abort()
    expect(await ended).toEqual({ value: undefined, done: true })
  })

  it('have every event once through a deploy and an outage', async () => {
    const { send } = await openPage({ transport })
    const { user } = factoriesFor(app, tenant)
    await settleEvents(app)
    const changes =
      'subscription Changes($after: ID) { events(after: $after, types: [USER_CREATED]) { id resourceId } }'
    const seen: string[] = []
    const created = [(await user()).id]
    await settleEvents(app)
    const { data } = await send<{ events: { nodes: { id: string }[] } }>('{ events(last: 1) { nodes { id } } }')
    const results = follow<{ events: { resourceId: string } }>(send, changes, { after: data.events.nodes[0]?.id })
    const readTo = async (id: string) => {
      while (seen.at(-1) !== id) seen.push(String((await results.next()).value?.data.events.resourceId))
    }
    for (let restarts = 0; restarts < 2; restarts += 1) {
      const { id } = await user()
      created.push(id)
      await readTo(id)
      const old = gateway
      if (restarts === 0) await startGateway()
      await old.close()
      created.push((await user()).id)
      if (restarts === 1) await startGateway()
      const last = await user()
      created.push(last.id)
      await readTo(last.id)
    }
    expect(seen).toEqual(created.slice(1))
  })
})

it('one WebSocket carries all subscriptions of a client', async () => {
  const onUpgrade = vi.fn()
  gateway.app.server.on('upgrade', onUpgrade)
  const { send } = await openPage()
  const { next } = followJobs(send, [await newJob(), await newJob(), await newJob()])
  expect(await next()).toEqual(Array(3).fill('PENDING'))
  expect(onUpgrade).toHaveBeenCalledOnce()
})
