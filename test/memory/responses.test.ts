import { dataModel, type TenantApp } from '@fusion-gateway/database'
import { metadataOf } from '@fusion-gateway/pothos-trees'
import type { LightMyRequestResponse } from 'fastify'
import { getNamedType, isLeafType, isObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { loggedModels } from '../../src/domain/event/live-changes.ts'
import { removeOldMetrics } from '../../src/domain/profile/profile-metric.ts'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { isDistributed } from '../support/postgresql.ts'
import { importText } from '../support/transfer.ts'
import { transports } from '../support/transports.ts'
import { openSocket } from '../support/web-socket.ts'

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp({ responseCacheBytes: 1024 * 1024, keyCacheMilliseconds: 60_000 })
  address = await app.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => app.close())

async function newTenant() {
  tenant = await app.createTenant()
  return createOneOfEach(app, tenant)
}

const hit = 'fusion; hit'
const miss = 'fusion; fwd=miss'

interface Asked {
  readonly variables?: Record<string, unknown>
  readonly as?: TestTenant
  readonly headers?: Record<string, string>
}

/** Asks for a query, and returns the response. */
async function ask(query: string, { variables, as = tenant, headers }: Asked = {}): Promise<LightMyRequestResponse> {
  const credential: Record<string, string> =
    as.token === undefined ? { 'x-api-key': as.key } : { authorization: `Bearer ${as.token}` }
  return app.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { ...credential, ...headers },
    payload: { query, variables },
  })
}

const statusOf = ({ headers }: LightMyRequestResponse) => headers['cache-status']
const dataOf = (response: LightMyRequestResponse) => response.json<{ data: Record<string, unknown> }>().data

/** Creates an access token of a user. */
async function tokenOf(userId: string): Promise<string> {
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
    { input: { userId, scopes: ['users:read', 'contacts:read', 'profiles:read'] } },
  )
  return data.createAccessToken.accessToken
}

/** Asks until the response is kept. Returns it. */
async function askUntilKept(query: string, asked?: Asked): Promise<LightMyRequestResponse> {
  await ask(query, asked)
  await ask(query, asked)
  const kept = await ask(query, asked)
  expect(statusOf(kept)).toBe(hit)
  return kept
}

/** The log is asked by one statement. That of a distributed database is asked by three, which Citus does not plan. */
const statementsOfCheck = isDistributed ? 3 : 1

describe('a response', () => {
  const query = 'query Tree($id: ID!) { user(id: $id) { id name accounts { id displayName profile { username } } } }'

  it('of a profile or an email by id is forgotten when its account is unlinked, and when the profile changes', async () => {
    const { account, profile, email } = await newTenant()
    const byId = 'query ($p: ID!, $e: ID!) { profile(id: $p) { id fullName } emailRecord(id: $e) { id value } }'
    const asked = { variables: { p: profile.id, e: email.id } }
    const only = 'query ($p: ID!) { profile(id: $p) { id fullName } }'
    await askUntilKept(only, asked)
    expect(dataOf(await askUntilKept(byId, asked))).toMatchObject({ emailRecord: { value: email.value } })
    await app.database.prisma.emailRecord.updateMany({ where: { id: email.id }, data: { value: 'new@example.com' } })
    expect(dataOf(await ask(byId, asked))).toMatchObject({ emailRecord: { value: 'new@example.com' } })
    await app.database.prisma.profile.updateMany({ where: { id: profile.id }, data: { fullName: 'New' } })
    expect(dataOf(await ask(only, asked))).toEqual({ profile: { id: profile.id, fullName: 'New' } })
    await askUntilKept(byId, asked)
    await app.database.prisma.account.deleteMany({ where: { id: account.id } })
    expect(dataOf(await ask(byId, asked))).toEqual({ profile: null, emailRecord: null })
    expect(dataOf(await ask(only, asked))).toEqual({ profile: null })
  })

  it('is kept when it is asked for again, and needs only a check of the log then', async () => {
    const { user } = await newTenant()
    const asked = { variables: { id: user.id } }
    const first = await ask(query, asked)
    expect(statusOf(first)).toBe(miss)
    expect(statusOf(await ask(query, asked))).toBe(miss)
    let kept: LightMyRequestResponse | undefined
    const statements = await app.statementsOf(async () => {
      kept = await ask(query, asked)
    })
    expect(kept && statusOf(kept)).toBe(hit)
    expect(kept?.json()).toEqual({ ...first.json(), extensions: kept?.json().extensions })
    expect(statements).toHaveLength(statementsOfCheck)
    expect(statements[0]).toMatch(/event_position|pg_current_snapshot|deleting_since/)
  })

  it('costs less than a read', async () => {
    const { user } = await newTenant()
    const asked = { variables: { id: user.id } }
    const { cost } = (await ask(query, asked)).json().extensions
    const kept = await askUntilKept(query, asked)
    const { requested, actual } = kept.json().extensions.cost
    expect([requested, actual]).toEqual([cost.requested, 1])
    expect(cost.actual).toBeGreaterThan(1)
    expect([kept.headers['x-cost-requested'], kept.headers['x-cost']]).toEqual([String(requested), '1'])
  })

  it('is read again after a change of its rows, by whoever', async () => {
    const { user, account, profile } = await newTenant()
    const asked = { variables: { id: user.id } }
    const { prisma } = app.database
    const id = { tenantAppId_id: { tenantAppId: tenant.tenantAppId, id: user.id } }
    await askUntilKept(query, asked)
    await app.graphql(
      tenant,
      `mutation { updateUser(input: { id: "${user.id}", name: "By the API" }) { user { id } } }`,
    )
    expect(dataOf(await ask(query, asked))).toMatchObject({ user: { name: 'By the API' } })
    await askUntilKept(query, asked)
    await prisma.user.update({ where: id, data: { name: 'By SQL' } })
    expect(dataOf(await ask(query, asked))).toMatchObject({ user: { name: 'By SQL' } })
    await askUntilKept(query, asked)
    await prisma.account.updateMany({ where: { id: account.id }, data: { displayName: 'Renamed' } })
    expect(dataOf(await ask(query, asked))).toMatchObject({ user: { accounts: [{ displayName: 'Renamed' }] } })
    await askUntilKept(query, asked)
    await prisma.profile.updateMany({ where: { id: profile.id }, data: { username: 'changed' } })
    expect(dataOf(await ask(query, asked))).toMatchObject({
      user: { accounts: [{ profile: { username: 'changed' } }] },
    })
    await askUntilKept(query, asked)
    await prisma.user.delete({ where: id })
    expect(dataOf(await ask(query, asked))).toEqual({ user: null })
  })

  it('stays after a change of another user, if it is of one', async () => {
    const { user } = await newTenant()
    const { user: other } = await createOneOfEach(app, tenant)
    const asked = { variables: { id: user.id } }
    const list = '{ users { nodes { name } } }'
    await askUntilKept(query, asked)
    await askUntilKept(list)
    await app.graphql(tenant, `mutation { updateUser(input: { id: "${other.id}", name: "Other" }) { user { id } } }`)
    expect(statusOf(await ask(query, asked))).toBe(hit)
    expect(statusOf(await ask(list))).toBe(miss)
  })

  it('is not of another tenant, key with other scopes, or user', async () => {
    const { user } = await newTenant()
    const withEmail = 'query ($id: ID!) { user(id: $id) { email } }'
    const asked = { variables: { id: user.id } }
    await askUntilKept(withEmail, asked)
    const { key } = await createKey(app.database, {
      tenantAppId: tenant.tenantAppId,
      name: 'without contacts',
      scopes: ['users:read'],
    })
    const masked = await ask(withEmail, { ...asked, as: { ...tenant, key } })
    expect(masked.json().errors[0].extensions.code).toBe('FORBIDDEN')
    expect(dataOf(masked)).toEqual({ user: { email: null } })
    const other = await app.createTenant()
    expect(dataOf(await ask(withEmail, { ...asked, as: other }))).toEqual({ user: null })
    const { user: second } = await createOneOfEach(app, tenant)
    const token = await tokenOf(second.id)
    expect(dataOf(await ask(withEmail, { ...asked, as: { ...tenant, token } }))).toEqual({ user: null })
  })

  it('of the token of a user is read again when an account of the user gets another user, whatever is selected', async () => {
    const { user, account, profile } = await newTenant()
    const { user: other } = await createOneOfEach(app, tenant)
    const as = { ...tenant, token: await tokenOf(user.id) }
    const query = '{ searchProfiles { nodes { id } } }'
    expect(dataOf(await askUntilKept(query, { as }))).toEqual({ searchProfiles: { nodes: [{ id: profile.id }] } })
    await app.database.prisma.account.updateMany({ where: { id: account.id }, data: { userId: other.id } })
    expect(dataOf(await ask(query, { as }))).toEqual({ searchProfiles: { nodes: [] } })
  })

  it('is read again after more changes than are looked at one by one', async () => {
    tenant = await app.createTenant()
    await app.database.runAsOwner(`INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
      SELECT '${tenant.tenantAppId}', 'usr_' || number, 'Old', 'a', now() FROM generate_series(1, 600) AS number`)
    const asked = { variables: { id: 'usr_600' } }
    const name = 'query ($id: ID!) { user(id: $id) { name } }'
    await askUntilKept(name, asked)
    await app.database.runAsOwner(`UPDATE "user" SET name = 'New' WHERE tenant_app_id = '${tenant.tenantAppId}'`)
    expect(dataOf(await ask(name, asked))).toEqual({ user: { name: 'New' } })
  })

  it.each([
    ['email_record', [{ accounts: [{ profile: { emails: [] } }] }]],
    ['"user" CASCADE', []],
  ])('is read again after a TRUNCATE of %s, which has no events', async (table, nodes) => {
    const { profile } = await newTenant()
    await factoriesFor(app, tenant).email(profile.id)
    const query = '{ users { nodes { accounts { profile { emails { value } } } } } }'
    expect(dataOf(await askUntilKept(query))).not.toEqual({ users: { nodes } })
    await app.database.runAsOwner(`TRUNCATE ${table}`)
    expect(dataOf(await ask(query))).toEqual({ users: { nodes } })
    await askUntilKept(query)
  })

  it('is read again after its tenant was deleted, whose rows have no events, also if the key is still known', async () => {
    const caching = await app.startAnother({ responseCacheBytes: 1024 * 1024, keyCacheMilliseconds: 60_000 })
    try {
      const own = await caching.createTenant()
      const { user } = await createOneOfEach(caching, own)
      const get = () => caching.rest(own, 'GET', `/users/${user.id}`)
      await get()
      await get()
      expect(statusOf(await get())).toBe(hit)
      await app.database.runAsOwner(`DELETE FROM tenant_app WHERE id = '${own.tenantAppId}'`)
      expect((await get()).statusCode).toBe(404)
      // Another tenant with the same id.
      await app.database.runAsOwner(
        `INSERT INTO tenant_app (id, name, updated_at) VALUES ('${own.tenantAppId}', 'Again', now())`,
      )
      await factoriesFor(caching, own).user({ id: user.id, name: 'Another' })
      await get()
      expect((await get()).json()).toMatchObject({ name: 'Another' })
      await app.database.runAsOwner(`DELETE FROM tenant_app WHERE id = '${own.tenantAppId}';
        INSERT INTO tenant_app (id, name, updated_at) VALUES ('${own.tenantAppId}', 'Again', now())`)
      expect((await get()).statusCode).toBe(404)
      // While it is deleted, page by page.
      await factoriesFor(caching, own).user({ id: user.id })
      await app.database.runAsOwner(`UPDATE tenant_app SET deleting_since = now() WHERE id = '${own.tenantAppId}'`)
      for (let times = 0; times < 3; times += 1) expect((await get()).statusCode).toBe(200)
      await app.database.runAsOwner(`DELETE FROM "user" WHERE tenant_app_id = '${own.tenantAppId}'`)
      expect((await get()).statusCode).toBe(404)
    } finally {
      await caching.close()
    }
  })

  it('is read anew for Cache-Control: no-cache', async () => {
    const { user } = await newTenant()
    const asked = { variables: { id: user.id } }
    await askUntilKept(query, asked)
    const anew = await ask(query, { ...asked, headers: { 'cache-control': 'no-cache' } })
    expect(statusOf(anew)).toBeUndefined()
  })

  it('with errors is not kept', async () => {
    const { user } = await newTenant()
    const failing = `{ user(id: "${user.id}") { id } users(first: 501) { nodes { id } } }`
    for (let times = 0; times < 4; times += 1) expect(statusOf(await ask(failing))).not.toBe(hit)
  })

  it.each([
    ['jobs', '{ jobs { nodes { id } } }'],
    ['events', '{ events { nodes { id } } }'],
    ['keys', '{ apiKeys { nodes { id } } }'],
    ['the viewer', '{ viewer { scopes } }'],
    ['statistics of the tenant', '{ tenantStats { users } }'],
    ['the time of a sync', '{ searchProfiles { nodes { syncedAt } } }'],
    ['an estimate', '{ users { totalCountEstimate } }'],
    ['the tenant app', '{ users { nodes { tenantApp { name } } } }'],
    ['a node', '{ node(id: "job_1") { id } }'],
    ['the schema', '{ __typename }'],
  ])('of %s is read each time', async (_what, query) => {
    for (let times = 0; times < 3; times += 1) {
      const response = await ask(query)
      expect(response.json().errors).toBeUndefined()
      expect(statusOf(response)).toBeUndefined()
    }
  })
})

describe('requests at the same time', () => {
  it('share one question to the log', async () => {
    const { user } = await newTenant()
    const queries = [1, 2, 3, 4].map((number) => `{ user(id: "${user.id}") { name a${number}: id } }`)
    for (const query of queries) await askUntilKept(query)
    const statements = await app.statementsOf(async () => {
      const responses = await Promise.all(queries.map((query) => ask(query)))
      expect(responses.map(statusOf)).toEqual([hit, hit, hit, hit])
    })
    expect(statements.length).toBeLessThanOrEqual(2 * statementsOfCheck)
  })
})

describe('REST', () => {
  it('has responses from the memory, and 304 for what the client has', async () => {
    const { user } = await newTenant()
    const get = (url: string, headers: Record<string, string> = {}) =>
      app.app.inject({ url, headers: { 'x-api-key': tenant.key, ...headers } })
    for (const url of [`/users/${user.id}`, '/users?limit=1']) {
      const first = await get(url)
      await get(url)
      const kept = await get(url)
      expect(statusOf(kept)).toBe(hit)
      expect([kept.body, kept.headers.etag, kept.headers.link]).toEqual([
        first.body,
        first.headers.etag,
        first.headers.link,
      ])
      const tag = String(first.headers.etag)
      const validated = await get(url, { 'if-none-match': tag, 'cache-control': 'no-cache' })
      expect([validated.statusCode, statusOf(validated)]).toEqual([304, hit])
      await app.rest(tenant, 'PUT', `/users/${user.id}`, { name: `after ${url}` })
      expect((await get(url, { 'if-none-match': tag })).statusCode).toBe(200)
    }
    // A filter can be about rows of any model; a list without one depends on what it has.
    const { account } = await createOneOfEach(app, tenant)
    const sync = () => app.rest(tenant, 'PUT', `/accounts/${account.id}/profile`, { username: crypto.randomUUID() })
    for (const [url, status] of [
      ['/users?limit=2', hit],
      ['/users?limit=2&external_id=x', miss],
    ] as const) {
      for (let time = 0; time < 3; time += 1) await get(url)
      expect(statusOf(await get(url))).toBe(hit)
      await sync()
      expect([url, statusOf(await get(url))]).toEqual([url, status])
    }
    await get('/users/missing')
    await get('/users/missing')
    expect((await get('/users/missing')).statusCode).toBe(404)
  })
})

describe('a kept response', () => {
  it.each(Object.entries(transports))('is sent over %s as a read is', async (_name, send) => {
    await newTenant()
    const query = '{ users { nodes { id name accounts { displayName } } } }'
    const kept = await askUntilKept(query)
    const { length } = app.log
    const sent = await send(address, tenant.key, query)
    await sent.until(kept.body.slice(kept.body.indexOf('"data"'), kept.body.indexOf(',"extensions"')))
    await app.logged((line) => app.log.indexOf(line) >= length && line['cached'] === true)
  })

  it('is sent over a WebSocket that a browser has opened, which adds Cache-Control: no-cache', async () => {
    await newTenant()
    const query = '{ users { nodes { name } } }'
    await askUntilKept(query)
    const { length } = app.log
    const { socket, send, next } = await openSocket(address, { headers: { 'cache-control': 'no-cache' } })
    send({ type: 'connection_init', payload: { 'x-api-key': tenant.key } })
    expect(await next()).toMatchObject({ type: 'connection_ack' })
    send({ type: 'subscribe', id: '1', payload: { query } })
    expect(await next()).toMatchObject({ type: 'next' })
    await app.logged((line) => app.log.indexOf(line) >= length && line['cached'] === true)
    socket.terminate()
  })
})

describe('the memory', () => {
  it('keeps at most a quarter of its bytes for a tenant, and the responses of others meanwhile', async () => {
    const small = await app.startAnother({ responseCacheBytes: 64 * 1024, keyCacheMilliseconds: 60_000 })
    try {
      await newTenant()
      const neighbour = tenant
      const askNeighbour = () => small.rest(neighbour, 'GET', '/users?limit=1')
      await askNeighbour()
      await askNeighbour()
      await newTenant()
      const bytes = async () => (await small.services.metrics.keptResponses.bytes.get()).values[0]?.value ?? 0
      const before = await bytes()
      for (let number = 0; number < 40; number += 1) {
        const query = `{ users { nodes { a${number}: name } } }`
        for (let times = 0; times < 2; times += 1) await small.graphql(tenant, query)
      }
      expect((await bytes()) - before).toBeLessThanOrEqual(16 * 1024)
      expect(await bytes()).toBeGreaterThan(8 * 1024)
      expect(statusOf(await askNeighbour())).toBe(hit)
    } finally {
      await small.close()
    }
  })
})

describe('a response with the history of a profile', () => {
  it('is read each time, because imports of past days and retention write no events', async () => {
    const { profile } = await newTenant()
    const { tenantAppId } = tenant
    const { prisma } = app.database
    await prisma.profile.updateMany({ where: { tenantAppId }, data: { followersCount: 9 } })
    const asked = { variables: { id: profile.id } }
    const day = new Date(Date.now() - 40 * 86_400_000)
    for (const field of ['history(metric: FOLLOWERS) { value }', 'growth(metric: FOLLOWERS)']) {
      const query = `query ($id: ID!) { profile(id: $id) { name: ${field} } }`
      const read = async () => {
        await ask(query, asked)
        await ask(query, asked)
        const response = await ask(query, asked)
        expect(statusOf(response)).not.toBe(hit)
        return dataOf(response)['profile']
      }
      const before = await read()
      const record = {
        kind: 'profile_metric',
        profile_id: profile.id,
        day: day.toISOString().slice(0, 10),
        followers_count: 4,
      }
      const of = { id: tenantAppId } as TenantApp
      expect(await importText(app.database, of, JSON.stringify(record))).toMatchObject({ imported: 1 })
      const imported = await read()
      expect(imported).not.toEqual(before)
      await removeOldMetrics(app.database, 30)
      expect(await read()).toEqual(before)
    }
  })
})

it('a response with groups of profiles is read each time, because a synchronization alone is no event', async () => {
  await newTenant()
  const query = '{ profileStats { groups(by: [SYNCED_DAY]) { syncedDay count } } }'
  const read = async () => {
    for (const _time of [1, 2, 3]) await ask(query)
    return dataOf(await ask(query))['profileStats']
  }
  const { tenantAppId } = tenant
  for (const day of ['2026-01-01', '2026-01-02']) {
    await app.database.prisma.profile.updateMany({ where: { tenantAppId }, data: { syncedAt: new Date(day) } })
    expect(await read()).toEqual({ groups: [{ syncedDay: day, count: 1 }] })
  }
})

describe('the types whose responses are kept', () => {
  it('have only fields that read columns, whose changes are events, and relations', () => {
    const others = [...loggedModels].flatMap((model) => {
      const type = schemas.schema.getType(model)
      if (!isObjectType(type)) return [model]
      const columns = new Set(dataModel(model).columns.map(({ field }) => field))
      return Object.values(type.getFields()).flatMap((field) => {
        const { relation, columns: read = [field.name], isUnlogged } = metadataOf(field)
        const isColumn = isLeafType(getNamedType(field.type)) && read.every((column) => columns.has(column))
        return isUnlogged || relation || isColumn ? [] : [`${model}.${field.name}`]
      })
    })
    expect(others).toEqual([])
  })
})
