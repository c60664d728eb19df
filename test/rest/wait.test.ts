import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { connectTo } from '../support/mcp.ts'

// A GET waits for another response than the one that its client has.

let app: TestApp
let address: string
let tenant: TestTenant
let ids: { user: string; account: string; job: string }

beforeAll(async () => {
  app = await startTestApp()
  address = await addressOf(app)
  tenant = await app.createTenant()
  const { user, account, job } = await createOneOfEach(app, tenant)
  ids = { user: user.id, account: account.id, job: job.id }
})
afterAll(() => app.close())

const get = (url: string, headers: Record<string, string> = {}, key = tenant.key) =>
  fetch(`${address}${url}`, { headers: { 'x-api-key': key, ...headers } })

const tagOf = async (url: string) => String((await get(url)).headers.get('etag'))

const startWait = (url: string, tag: string) => get(url, { 'if-none-match': tag, prefer: 'wait=30' })

/** How many follow the log. */
let watching = 0
const isFollowed = () => watching > 0

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}

beforeAll(() => {
  const { watch } = app.services.events
  Object.assign(app.services.events, {
    async watch(...args: Parameters<typeof watch>) {
      const stop = await watch(...args)
      watching += 1
      return () => {
        watching -= 1
        stop()
      }
    },
  })
})

const changeUser = (name: string) =>
  app.database.prisma.user.updateMany({ where: { tenantAppId: tenant.tenantAppId, id: ids.user }, data: { name } })

describe('Prefer: wait', () => {
  it('responds with 200 and the new tag when the response is another one, also if SQL has changed it', async () => {
    const url = `/users/${ids.user}`
    const tag = await tagOf(url)
    const waiting = startWait(url, tag)
    await until(isFollowed)
    await changeUser('Waited for')
    const response = await waiting
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ name: 'Waited for' })
    expect(response.headers.get('preference-applied')).toBe('wait=30')
    expect(response.headers.get('etag')).toBe(await tagOf(url))
    expect(response.headers.get('etag')).not.toBe(tag)
  })

  it.each(['user', 'account', 'job'] as const)('responds with 304 after the time, to one of a %s', async (kind) => {
    const path = { user: '/users/', account: '/accounts/', job: '/fusion/jobs/' }[kind]
    const url = `${path}${ids[kind]}`
    const startedAt = performance.now()
    const response = await get(url, { 'if-none-match': await tagOf(url), prefer: 'respond-async, wait="1"' })
    expect(performance.now() - startedAt).toBeGreaterThan(990)
    expect([response.status, await response.text()]).toEqual([304, ''])
    expect(response.headers.get('preference-applied')).toBe('wait=1')
  })

  it('waits for a page of a list', async () => {
    const url = '/users?limit=500'
    const waiting = startWait(url, await tagOf(url))
    await until(isFollowed)
    const { id } = await factoriesFor(app, tenant).user()
    const response = await waiting
    expect(response.status).toBe(200)
    expect(JSON.stringify(await response.json())).toContain(id)
  })

  it('responds with 404 when the resource is deleted', async () => {
    const { id } = await factoriesFor(app, tenant).user()
    const url = `/users/${id}`
    const waiting = startWait(url, await tagOf(url))
    await until(isFollowed)
    await app.database.prisma.user.deleteMany({ where: { id } })
    expect((await waiting).status).toBe(404)
  })

  it('responds at once to a client that has another response, or none', async () => {
    const url = `/users/${ids.user}`
    for (const headers of [{ 'if-none-match': '"other"', prefer: 'wait=30' }, { prefer: 'wait=30' }]) {
      expect((await get(url, headers as unknown as Record<string, string>)).status).toBe(200)
    }
  })

  it.each(['wait=0', 'wait=-1', 'wait=abc', 'wait', 'return=minimal'])('is ignored if it is %s', async (prefer) => {
    const url = `/users/${ids.user}`
    const response = await get(url, { 'if-none-match': await tagOf(url), prefer })
    expect(response.status).toBe(304)
    expect(response.headers.has('preference-applied')).toBe(false)
  })

  it('responds with 401 when the key has been revoked meanwhile', async () => {
    const { row, key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'revoked' })
    const url = `/users/${ids.user}`
    const waiting = get(url, { 'if-none-match': await tagOf(url), prefer: 'wait=30' }, key)
    await until(isFollowed)
    await revokeKey(app.database, row.id)
    await changeUser('Changed after it was revoked')
    expect((await waiting).status).toBe(401)
  })

  it('follows nothing any more when the client has gone', async () => {
    const url = `/users/${ids.user}`
    const leaving = new AbortController()
    const headers = { 'x-api-key': tenant.key, 'if-none-match': await tagOf(url), prefer: 'wait=60' }
    const waiting = fetch(`${address}${url}`, { headers, signal: leaving.signal }).catch(() => 'gone')
    await until(isFollowed)
    leaving.abort()
    expect(await waiting).toBe('gone')
    await until(() => !isFollowed())
  })
})

describe('the tool wait_for_job', () => {
  const setJob = (id: string, data: object) => app.database.prisma.job.updateMany({ where: { id }, data })

  it('returns the job when it is finished, and not before', async () => {
    const { id } = await factoriesFor(app, tenant).job({ status: 'RUNNING' })
    const { call } = await connectTo(address, { 'x-api-key': tenant.key })
    const called = call('wait_for_job', { id })
    await until(isFollowed)
    await setJob(id, { progress: 0.5 })
    await setJob(id, { status: 'SUCCEEDED', finishedAt: new Date() })
    expect((await called).json).toMatchObject({ id, status: 'succeeded' })
  })

  it('returns the job as it is when the time is over, and says what is wrong with a time', async () => {
    const { id } = await factoriesFor(app, tenant).job({ status: 'RUNNING' })
    const { call } = await connectTo(address, { 'x-api-key': tenant.key })
    expect((await call('wait_for_job', { id, seconds: 1 })).json).toMatchObject({ id, status: 'running' })
    expect((await call('wait_for_job', { id, seconds: 61 })).json).toMatchObject({ code: 'BAD_USER_INPUT' })
  })
})
