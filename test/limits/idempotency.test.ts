import { createHash } from 'node:crypto'
import { removeExpiredResponses } from '@fusion-gateway/gateway-kit'
import type { Sql } from '@fusion-gateway/sql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { isDistributed } from '../support/postgresql.ts'

let app: TestApp
let tenant: TestTenant
let other: TestTenant
let keys = 0

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  other = await app.createTenant()
})
afterAll(() => app.close())

/** A new idempotency key, and the email address of a user to create with it. */
function newKey() {
  keys += 1
  return { key: `key-${keys}`, email: `user${keys}@example.com` }
}

async function send(
  method: 'POST' | 'PUT',
  url: string,
  payload: object,
  key: string,
  client: { key: string } = tenant,
) {
  const response = await app.app.inject({
    method,
    url,
    payload,
    headers: { 'x-api-key': client.key, 'idempotency-key': key },
  })
  const { 'idempotent-replayed': replayed, location } = response.headers
  return { status: response.statusCode, body: response.json(), replayed, location }
}

const post = (email: string, key: string, client?: { key: string }) =>
  send('POST', '/users', { name: 'Ada', email, phone: '1' }, key, client)

const mutate = (query: string, key: string, variables?: object) => send('POST', '/graphql', { query, variables }, key)

const countOf = (email: string) => app.database.prisma.user.count({ where: { email } })

describe('a request with an idempotency key', () => {
  it('runs once, and a retry gets the first response', async () => {
    const { key, email } = newKey()
    const first = await post(email, key)
    expect(first).toMatchObject({ status: 201, body: { email }, replayed: undefined })
    expect(await post(email, key)).toEqual({ ...first, replayed: 'true' })
    expect(await countOf(email)).toBe(1)
  })

  it('sends only two statements for a retry', async () => {
    const { key, email } = newKey()
    await post(email, key)
    const statements = await app.statementsOf(() => post(email, key))
    expect(statements.filter((sql) => !/^(BEGIN|COMMIT)$/.test(sql))).toHaveLength(2)
  })

  it('does not repeat its change', async () => {
    const { key, email } = newKey()
    const { body } = await post(email, key)
    const url = `/users/${body.id}`
    const renamed = newKey().key
    const first = await send('PUT', url, { name: 'First' }, renamed)
    await send('PUT', url, { name: 'Second' }, newKey().key)
    expect(await send('PUT', url, { name: 'First' }, renamed)).toEqual({ ...first, replayed: 'true' })
    expect(await app.database.prisma.user.findFirst({ where: { email } })).toMatchObject({ name: 'Second' })
  })

  it('is rejected with another body', async () => {
    const { key, email } = newKey()
    await post(email, key)
    const { status, body } = await post(`another-${email}`, key)
    expect([status, body.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    expect(await countOf(`another-${email}`)).toBe(0)
  })

  it('is rejected while the first request still runs', async () => {
    const { key, email } = newKey()
    const responses = await Promise.all(Array.from({ length: 10 }, () => post(email, key)))
    const created = responses.filter(({ status }) => status === 201)
    const rejected = responses.filter(({ status }) => status === 409)
    expect(created.length).toBeGreaterThan(0)
    expect(created.length + rejected.length).toBe(10)
    for (const { body } of rejected) expect(body.code).toBe('IDEMPOTENCY_KEY_IN_USE')
    expect(new Set(created.map(({ body }) => body.id)).size).toBe(1)
    expect(await countOf(email)).toBe(1)
  })

  it('gets the same rejection of its input again', async () => {
    const { key } = newKey()
    const first = await post('no address', key)
    expect(first).toMatchObject({ status: 422, body: { errors: [{ field: 'email' }] } })
    const { request_id: _id, instance: _instance, ...body } = first.body
    expect(await post('no address', key)).toMatchObject({ status: 422, body, replayed: 'true' })
  })

  // It creates a trigger with a script, which Citus does not take.
  it.skipIf(isDistributed)('can be sent again after an internal error, which rolls back all its changes', async () => {
    const { key, email } = newKey()
    const { runAsOwner } = app.database
    await runAsOwner(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON account FOR EACH ROW EXECUTE FUNCTION fail();`)
    const query = `mutation ($email: String!) {
      createUser(input: { name: "Ada", email: $email, phone: "1" }) { user { id } }
      linkAccount(input: { userId: "usr_idm", platform: "X", platformAccountId: "1", displayName: "x" }) { account { id } }
    }`
    await app.database.prisma.user.upsert({
      where: { tenantAppId_id: { tenantAppId: tenant.tenantAppId, id: 'usr_idm' } },
      create: { tenantAppId: tenant.tenantAppId, id: 'usr_idm', name: 'Ada', email: 'idm@example.com' },
      update: {},
    })
    expect((await mutate(query, key, { email })).body.errors[0].extensions.code).toBe('INTERNAL')
    expect(await countOf(email)).toBe(0)
    await runAsOwner('DROP TRIGGER fail ON account; DROP FUNCTION fail()')
    const second = await mutate(query, key, { email })
    expect(second).toMatchObject({ body: { data: { linkAccount: { account: { id: expect.any(String) } } } } })
    expect(second.replayed).toBeUndefined()
    expect(await countOf(email)).toBe(1)
  })

  it('runs separately for another API key, of the same tenant or of another tenant', async () => {
    const { key, email } = newKey()
    await post(email, key)
    const colleague = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'colleague' })
    for (const client of [colleague, other])
      expect(await post(email, key, client)).toMatchObject({ status: 201, replayed: undefined })
    expect(await countOf(email)).toBe(3)
  })

  // Rows stay with their tenant.
  it.skipIf(isDistributed)('gets no response of another tenant, even with the same id', async () => {
    const { key, email } = newKey()
    const { prisma } = app.database
    await post(email, key)
    const [reply] = await prisma.idempotentResponse.findMany({ orderBy: { createdAt: 'desc' }, take: 1 })
    if (!reply) throw new Error('No response was stored')
    await prisma.idempotentResponse.update({
      where: { tenantAppId_id: { tenantAppId: reply.tenantAppId, id: reply.id } },
      data: { tenantAppId: other.tenantAppId },
    })
    expect(await post(email, key)).toMatchObject({ status: 201, replayed: undefined })
    expect(await prisma.idempotentResponse.count({ where: { id: reply.id } })).toBe(2)
  })

  it('runs again when its response has expired after a day', async () => {
    const { key, email } = newKey()
    await post(email, key)
    await app.database.prisma.$executeRaw`UPDATE idempotent_answer SET created_at = now() - interval '25 hours'`
    expect(await post(email, key)).toMatchObject({ status: 201, replayed: undefined })
    expect(await countOf(email)).toBe(2)
    await removeExpiredResponses(app.database)
    expect(await app.database.prisma.idempotentResponse.count()).toBe(1)
    expect(await post(email, key)).toMatchObject({ replayed: 'true' })
  })

  it.each(['', ' ', 'two words', 'é', 'x'.repeat(256)])('is rejected with the invalid key %.20j', async (key) => {
    expect(await post('bad@example.com', key)).toMatchObject({ status: 400, body: { code: 'MALFORMED_REQUEST' } })
    expect(await countOf('bad@example.com')).toBe(0)
  })
})

describe('a transaction', () => {
  const insert = `INSERT INTO tenant_app (id, name, updated_at) VALUES ('ten_x', 'x', now())`
  const exists = async () => (await app.database.prisma.tenantApp.count({ where: { id: 'ten_x' } })) === 1

  it('in which a statement has failed is rolled back, even if the error was caught', async () => {
    const { sql } = app.database
    const work = async (transaction: Sql) => {
      await transaction.execute({ text: insert })
      await transaction.execute({ text: 'SELECT 1/0' }).catch(() => undefined)
    }
    await expect(sql.transact(work)).rejects.toThrow(/division by zero/)
    const late = async (transaction: Sql) => {
      await transaction.execute({ text: insert })
      void transaction.execute({ text: 'SELECT 1/0' }).catch(() => undefined)
    }
    await expect(sql.transact(late)).rejects.toThrow(/division by zero/)
    expect(await exists()).toBe(false)
  })

  it('keeps what was written before a nested transaction that failed', async () => {
    await app.database.sql.transact(async (transaction) => {
      await transaction.execute({ text: insert })
      await transaction.transact((nested) => nested.execute({ text: 'SELECT 1/0' })).catch(() => undefined)
    })
    expect(await exists()).toBe(true)
    await app.database.prisma.tenantApp.delete({ where: { id: 'ten_x' } })
  })
})

describe('a GraphQL request with an idempotency key', () => {
  const query =
    'mutation ($email: String!) { createUser(input: { name: "Ada", email: $email, phone: "1" }) { user { id } } }'

  it('runs once, with a new document and with a known one', async () => {
    for (const _time of ['new', 'known']) {
      const { key, email } = newKey()
      const first = await mutate(query, key, { email })
      const second = await mutate(query, key, { email })
      expect(second).toMatchObject({ status: 200, body: { data: first.body.data }, replayed: 'true' })
      const reused = await mutate(query, key, { email: 'other@example.com' })
      expect(reused).toMatchObject({
        status: 422,
        body: { errors: [{ extensions: { code: 'IDEMPOTENCY_KEY_REUSED' } }] },
      })
      expect(await countOf(email)).toBe(1)
    }
  })

  it('commits the valid mutations next to the rejected ones', async () => {
    const { key, email } = newKey()
    const create = (name: string, address: string) =>
      `${name}: createUser(input: { name: "Ada", email: "${address}", phone: "1" }) { user { id } userErrors { code } }`
    const link = `link: linkAccount(input: { userId: "nobody", platform: "X", platformAccountId: "1", displayName: "x" }) {
      account { id } userErrors { code } }`
    const several = `mutation { ${create('one', email)} ${link} ${create('two', email)} ${create('bad', 'no')} }`
    const first = await mutate(several, key)
    expect(first.body.data).toMatchObject({
      one: { userErrors: [] },
      link: { userErrors: [{ code: 'NOT_FOUND' }] },
      two: { userErrors: [] },
      bad: { userErrors: [{ code: 'INVALID_FORMAT' }] },
    })
    expect(await mutate(several, key)).toMatchObject({ body: { data: first.body.data }, replayed: 'true' })
    expect(await countOf(email)).toBe(2)
  })

  it('reads its own writes', async () => {
    const { key, email } = newKey()
    const { body } = await post(email, newKey().key)
    const link = `mutation { linkAccount(input: {
      userId: "${body.id}", platform: "X", platformAccountId: "${key}", displayName: "x"
    }) { account { user { accounts { platformAccountId } } } } }`
    const { data } = (await mutate(link, key)).body
    expect(data.linkAccount.account.user.accounts).toEqual([{ platformAccountId: key }])
  })

  it('can create a job of a new type, and claim jobs', async () => {
    const { key } = newKey()
    const create = `mutation { createJob(input: { jobType: "${key}" }) { job { id } } }`
    const first = await mutate(create, key)
    expect(first.body.data.createJob.job.id).toEqual(expect.any(String))
    expect((await mutate(create, key)).body.data).toEqual(first.body.data)
    const claim = `mutation { claimJobs(input: { jobTypes: ["${key}", "unheard-of"] }) { leases { job { id } } } }`
    const claimed = (await mutate(claim, newKey().key)).body.data
    expect(claimed.claimJobs.leases).toEqual([{ job: first.body.data.createJob.job }])
  })

  it('gets the errors of the first response, also from a gateway that does not know the document', async () => {
    const other = await app.startAnother({})
    const { tenantAppId } = tenant
    const writer = await createKey(app.database, { tenantAppId, name: 'writer', scopes: ['users:write', 'users:read'] })
    const { id } = (await post(newKey().email, newKey().key)).body
    for (const [name, variables] of [
      ['New', { id: id as unknown }],
      ['NoVariable', {}],
      ['WrongVariable', { id: { of: 'another type' } }],
    ] as const) {
      const query = `mutation ${name}($id: ID!) { updateUser(input: { id: $id, name: "x" }) { user { id email } } }`
      const { key } = newKey()
      const sendTo = (gateway: TestApp) =>
        gateway.app.inject({
          method: 'POST',
          url: '/graphql',
          payload: { query, variables },
          headers: { 'x-api-key': writer.key, 'idempotency-key': key },
        })
      const first = await sendTo(app)
      expect(first.json().errors).toHaveLength(1)
      for (const gateway of [other, other, app]) {
        const again = await sendTo(gateway)
        const { errors, data } = again.json()
        expect([again.statusCode, errors, data]).toEqual([first.statusCode, first.json().errors, first.json().data])
        expect(again.headers['idempotent-replayed']).toBe('true')
      }
    }
    await other.close()
  })

  it('is the same request with its document and with only its hash', async () => {
    const { key, email } = newKey()
    const sha256Hash = createHash('sha256').update(query).digest('hex')
    const hashed = { variables: { email }, extensions: { persistedQuery: { version: 1, sha256Hash } } }
    const first = await send('POST', '/graphql', { query, ...hashed }, key)
    expect(first.body.data.createUser.user.id).toEqual(expect.any(String))
    expect(await send('POST', '/graphql', hashed, key)).toMatchObject({
      body: { data: first.body.data },
      replayed: 'true',
    })
    expect(await mutate(query, key, { email })).toMatchObject({ body: { data: first.body.data }, replayed: 'true' })
  })

  it('is rejected with an invalid key, with a new document and with a known one', async () => {
    const fresh = '{ viewer { keyName scopes tenantApp { name } } }'
    for (const _time of ['new', 'known']) {
      expect(await mutate(fresh, 'no key')).toMatchObject({
        status: 400,
        body: { errors: [{ extensions: { code: 'MALFORMED_REQUEST' } }] },
      })
    }
  })

  it('runs any number of mutations in one transaction', async () => {
    const { key } = newKey()
    const create = (at: number) => `a${at}: createJob(input: { jobType: "many${at}" }) { job { id } }`
    const many = `mutation { ${Array.from({ length: 30 }, (_, at) => create(at)).join(' ')} }`
    const statements = await app.statementsOf(async () => {
      expect((await mutate(many, key)).body.errors).toBeUndefined()
    })
    expect(statements.filter((sql) => sql === 'BEGIN')).toHaveLength(1)
    expect(statements.filter((sql) => sql.startsWith('SAVEPOINT'))).toHaveLength(30)
  })

  it('has no effect if the operation is a query', async () => {
    const { key } = newKey()
    const sendQuery = (query: string) => mutate(query, key)
    expect(await sendQuery('{ viewer { keyName } }')).toMatchObject({ status: 200, replayed: undefined })
    expect(await sendQuery('{ viewer { scopes } }')).toMatchObject({ status: 200, replayed: undefined })
  })
})
