import { readFileSync } from 'node:fs'
import { type GraphQLInputType, getNamedType, isInputObjectType, isNonNullType } from 'graphql'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { schema } from '../../src/graphql/operation/schema.ts'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let mine: TestTenant
let theirs: TestTenant
let own: Awaited<ReturnType<typeof createOneOfEach>>
let other: Awaited<ReturnType<typeof createOneOfEach>>

beforeAll(async () => {
  app = await startTestApp()
  mine = await app.createTenant('Mine')
  theirs = await app.createTenant('Theirs')
  own = await createOneOfEach(app, mine)
  other = await createOneOfEach(app, theirs)
})
afterAll(() => app.close())

async function theirRows() {
  const { prisma } = app.database
  const where = { tenantAppId: theirs.tenantAppId }
  return JSON.stringify([
    await prisma.user.findMany({ where }),
    await prisma.account.findMany({ where }),
    await prisma.job.findMany({ where }),
    await prisma.emailRecord.findMany({ where }),
    await prisma.profile.findMany({
      where,
      omit: { followersCount: true, followingCount: true, subscribersCount: true, contentsCount: true },
    }),
  ])
}

let before: string
beforeEach(async () => {
  before = await theirRows()
})

/** Everything in an answer that belongs to the other tenant. */
function leaks(text: string): string[] {
  const { user, account, profile, email, job } = other
  const secrets = [
    user.id,
    user.name,
    user.email,
    account.id,
    account.displayName,
    profile.id,
    email.id,
    email.value,
    job.id,
  ]
  return [...secrets, theirs.tenantAppId, theirs.name].filter((secret) => text.includes(secret))
}

describe('GraphQL: an id of the other tenant is an id that nobody has', () => {
  const cases: [string, () => string][] = [
    ['user(id: $id) { id name }', () => other.user.id],
    ['account(id: $id) { id user { id } profile { id } }', () => other.account.id],
    ['job(id: $id) { id payload }', () => other.job.id],
    ['profiles(accountIds: [$id]) { id }', () => other.account.id],
    ...(['user', 'account', 'profile', 'email', 'job'] as const).flatMap((type): [string, () => string][] => [
      [`node(id: $id) { id } # ${type}`, () => other[type].id],
      [`nodes(ids: [$id]) { id } # ${type}`, () => other[type].id],
    ]),
  ]

  it.each(cases)('%s', async (field, id) => {
    const query = `query ($id: ID!) { ${field}\n }`
    const foreign = await app.graphql(mine, query, { id: id() })
    const nobody = await app.graphql(mine, query, { id: 'nobody' })
    expect(foreign).toEqual(nobody)
    expect(foreign.errors).toBeUndefined()
    expect(JSON.stringify(foreign.data)).toMatch(/null|\[\]/)
  })

  it('updateUser says NOT_FOUND and changes nothing', async () => {
    const mutation =
      'mutation ($id: ID!) { updateUser(input: { id: $id, name: "Taken" }) { user { id } userErrors { code } } }'
    const answer = await app.graphql(mine, mutation, { id: other.user.id })
    expect(answer).toEqual(await app.graphql(mine, mutation, { id: 'nobody' }))
    expect(answer.data['updateUser']).toEqual({ user: null, userErrors: [{ code: 'NOT_FOUND' }] })
    expect(await theirRows()).toBe(before)
  })

  it('updateUser with nothing to change does not read it either', async () => {
    const mutation = 'mutation ($id: ID!) { updateUser(input: { id: $id }) { user { id name } userErrors { code } } }'
    const answer = await app.graphql(mine, mutation, { id: other.user.id })
    expect(answer.data['updateUser']).toEqual({ user: null, userErrors: [{ code: 'NOT_FOUND' }] })
  })
})

describe('GraphQL: every mutation that takes an id', () => {
  /** What the other fields of an input need. */
  const samples: Record<string, string | number> = {
    ...{ name: 'Taken', email: 'a@b', phone: '1', platform: 'X', platformAccountId: 'new', displayName: 'Taken' },
    // The very token that the other tenant's worker has.
    ...{ leaseToken: '6a0f1d7e-0000-4000-8000-000000000001', progress: 0.5, code: 'X', message: 'x' },
  }
  beforeAll(async () => {
    await app.database.prisma.job.updateMany({
      where: { id: other.job.id },
      data: { status: 'RUNNING', leaseToken: String(samples['leaseToken']), leaseExpiresAt: new Date(4e12) },
    })
  })
  const theirId = (mutation: string, field: string) => {
    if (/Job/.test(mutation)) return other.job.id
    if (field === 'accountId' || /Account$/.test(mutation)) return field === 'userId' ? other.user.id : other.account.id
    return other.user.id
  }
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {}).flatMap(({ name, args }) => {
    const input = getNamedType(args[0]?.type as GraphQLInputType)
    if (!isInputObjectType(input)) throw new Error(`${name} takes no input`)
    const required = Object.values(input.getFields()).filter(({ type }) => isNonNullType(type))
    return required.some(({ type }) => getNamedType(type).name === 'ID') ? [{ name, input: input.name, required }] : []
  })

  it.each(mutations)(
    '$name: the other tenant’s id is one that nobody has, and nothing changes',
    async ({ name, input, required }) => {
      const query = `mutation ($input: ${input}!) { ${name}(input: $input) { userErrors { code field message } } }`
      const send = (id: (field: string) => string) => {
        const values = required.map((field) => [
          field.name,
          getNamedType(field.type).name === 'ID' ? id(field.name) : samples[field.name],
        ])
        return app.graphql<Record<string, unknown>>(mine, query, { input: Object.fromEntries(values) })
      }
      const foreign = await send((field) => theirId(name, field))
      expect(foreign).toEqual(await send(() => 'nobody'))
      expect(foreign.data[name]).toMatchObject({ userErrors: [{ code: 'NOT_FOUND' }] })
      expect(await theirRows()).toBe(before)
    },
  )

  it('linkAccount says the same of their user and of nobody, also where the account is linked already', async () => {
    const link = (userId: string) =>
      app.graphql(
        mine,
        `mutation ($userId: ID!) { linkAccount(input: { userId: $userId, platform: "${own.account.platform}", displayName: "x",
          platformAccountId: "${own.account.platformAccountId}" }) { userErrors { code field message } } }`,
        { userId },
      )
    const foreign = await link(other.user.id)
    expect(foreign).toEqual(await link('nobody'))
    expect(foreign.data['linkAccount']).toMatchObject({ userErrors: [{ code: 'NOT_FOUND', field: ['userId'] }] })
  })

  it('a job of the same id that waits in the other tenant is not started along', async () => {
    const job = { id: 'shared', jobType: 'shared_id', maxAttempts: 3, runAt: new Date() }
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).job({ ...job, status: 'FAILED' })
    for (const tenant of [mine, theirs]) {
      const { data } = await app.graphql(tenant, 'mutation { retryJob(input: { id: "shared" }) { job { status } } }')
      expect(data).toEqual({ retryJob: { job: { status: 'PENDING' } } })
    }
    const claim = 'mutation { claimJobs(input: { jobTypes: ["shared_id"] }) { leases { job { id status } } } }'
    expect((await app.graphql(mine, claim)).data).toEqual({
      claimJobs: { leases: [{ job: { id: 'shared', status: 'RUNNING' } }] },
    })
    const where = { tenantAppId: theirs.tenantAppId, id: 'shared' }
    expect(await app.database.prisma.job.findFirst({ where })).toMatchObject({ status: 'PENDING', leaseToken: null })
    await app.database.prisma.job.deleteMany({ where: { id: 'shared' } })
  })

  it('claimJobs and idempotency keys know the tenant’s own jobs alone', async () => {
    const create = `mutation { createJob(input: { jobType: "shared", idempotencyKey: "one" }) { job { id } } }`
    const { data } = await app.graphql<{ createJob: { job: { id: string } } }>(theirs, create)
    const claim = `mutation { claimJobs(input: { jobTypes: ["shared"] }) { leases { job { id } } } }`
    expect((await app.graphql(mine, claim)).data).toEqual({ claimJobs: { leases: [] } })
    const own = (await app.graphql<typeof data>(mine, create)).data.createJob.job
    expect(own.id).not.toBe(data.createJob.job.id)
    expect((await app.graphql(mine, claim)).data).toEqual({ claimJobs: { leases: [{ job: own }] } })
    await app.database.prisma.job.deleteMany({ where: { jobType: 'shared' } })
  })

  it('finds them all', () => {
    expect(mutations.map(({ name }) => name).sort()).toEqual([
      'cancelJob',
      'completeJob',
      'deleteUser',
      'extendJobLease',
      'failJob',
      'linkAccount',
      'reportJobProgress',
      'retryJob',
      'syncProfile',
      'unlinkAccount',
      'updateAccount',
      'updateUser',
    ])
  })

  it('every field of Query is tried in this file', () => {
    const source = readFileSync(import.meta.filename, 'utf8')
    const fields = Object.keys(schema.getQueryType()?.getFields() ?? {})
    expect(fields.filter((field) => !new RegExp(`\\b${field}\\b *[({]`).test(source))).toEqual([])
  })
})

describe('GraphQL: lists and edges stay within the tenant', () => {
  it('users, their count, every edge and back', async () => {
    const { data } = await app.graphql<{ users: { totalCount: number }; jobs: unknown }>(
      mine,
      `{ jobs(first: 500) { totalCount nodes { id payload } } users(first: 50) { totalCount nodes { id tenantAppId accounts { id user { id }
        profile { id account { id } emails { id value profile { id } } } } } } viewer { tenantApp { id name } } }`,
    )
    expect(leaks(JSON.stringify(data))).toEqual([])
    expect(data.users.totalCount).toBe(1)
    expect(data.jobs).toMatchObject({ totalCount: 1, nodes: [{ id: own.job.id }] })
    expect(JSON.stringify(data)).toContain(own.email.id)
  })

  it('a filter and a cursor of the other tenant find nothing of it', async () => {
    const { data: page } = await app.graphql<{ users: { edges: { cursor: string }[] } }>(
      theirs,
      '{ users { edges { cursor } } }',
    )
    const query = `query ($after: String, $email: String) {
      byCursor: users(after: $after) { nodes { id } } byEmail: users(filter: { email: $email }) { totalCount nodes { id } }
    }`
    const { data } = await app.graphql(mine, query, { after: page.users.edges[0]?.cursor, email: other.user.email })
    expect(leaks(JSON.stringify(data))).toEqual([])
    expect(data['byEmail']).toEqual({ totalCount: 0, nodes: [] })
  })

  it('rows of both tenants that share every id are told apart', async () => {
    const prisma = app.database.prisma
    for (const { tenantAppId, name } of [mine, theirs]) {
      const [at, id] = [new Date(), 'the same id']
      await prisma.user.create({ data: { tenantAppId, id, name: `User of ${name}`, email: 'a@b', createdAt: at } })
      const account = { id, platform: 'X', platformAccountId: 'same', displayName: `Account of ${name}` }
      await prisma.account.create({ data: { ...account, tenantAppId, userId: id } })
      const profile = { id, accountId: id, platform: 'X', platformAccountId: 'same', username: `Profile of ${name}` }
      await prisma.profile.create({ data: { ...profile, tenantAppId } })
      await prisma.emailRecord.create({ data: { tenantAppId, id, profileId: id, value: `Email of ${name}` } })
    }
    const fields =
      'name accounts { displayName user { name } profile { username account { displayName } emails { value } } }'
    const { data } = await app.graphql(mine, `{ user(id: "the same id") { ${fields} } }`)
    expect(JSON.stringify(data).match(/of Theirs/)).toBeNull()
    expect(JSON.stringify(data).match(/of Mine/g)).toHaveLength(6)
    await app.graphql(mine, 'mutation { updateUser(input: { id: "the same id", name: "Changed" }) { user { id } } }')
    const users = await prisma.user.findMany({ where: { id: 'the same id' }, orderBy: { name: 'asc' } })
    expect(users.map(({ name }) => name)).toEqual(['Changed', 'User of Theirs'])
    await prisma.user.deleteMany({ where: { id: 'the same id' } })
  })
})

describe('REST', () => {
  it.each(routes.filter(({ url }) => url.includes(':id')).map((route) => [route.method, route.url] as const))(
    '%s %s: an id of the other tenant and one that nobody has get the same 404, byte for byte but for the request id',
    async (method, url) => {
      const id = url.startsWith('/users') ? other.user.id : other.job.id
      const body = method === 'PUT' ? { name: 'Taken' } : undefined
      const [foreign, nobody] = [
        await app.rest(mine, method, url.replace(':id', id), body),
        await app.rest(mine, method, url.replace(':id', 'nobody'), body),
      ]
      const bare = ({ body: text, headers }: typeof foreign) => text.replaceAll(String(headers['x-request-id']), '')
      expect(foreign.statusCode).toBe(404)
      expect(bare(foreign)).toBe(bare(nobody))
      expect(await theirRows()).toBe(before)
    },
  )

  it('lists and profiles show nothing of the other tenant', async () => {
    for (const url of [
      '/users',
      '/users?limit=500',
      `/fusion/profiles?account_ids=${other.account.id},${own.account.id}`,
    ]) {
      const answer = await app.rest(mine, 'GET', url)
      expect(answer.statusCode).toBe(200)
      expect(leaks(answer.body)).toEqual([])
    }
  })

  it('a new user belongs to the tenant of the key, whatever the body says', async () => {
    const body = {
      name: 'A',
      email: 'a@b',
      phone: '1',
      tenant_app_id: theirs.tenantAppId,
      tenantAppId: theirs.tenantAppId,
    }
    const answer = await app.rest(mine, 'POST', '/users', body)
    expect(answer.json().tenant_app_id).toBe(mine.tenantAppId)
    expect(await theirRows()).toBe(before)
  })
})

describe('the database itself', () => {
  it('keys every tenant’s table by tenant, and lets no foreign key leave it', async () => {
    const rows = await app.database.prisma.$queryRaw<{ table: string; kind: string; columns: string }[]>`
      SELECT c.conrelid::regclass::text AS "table", c.contype::text AS kind, string_agg(a.attname, ',' ORDER BY k.n) AS columns
      FROM pg_constraint c
      CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(attnum, n)
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum
      WHERE c.connamespace = 'public'::regnamespace AND c.contype IN ('p', 'f')
      GROUP BY c.oid, 1, 2`
    const tables = rows.filter(({ table }) => !['tenant_app', '_prisma_migrations'].includes(table))
    const primary = tables.filter(({ kind }) => kind === 'p')
    expect(primary.map(({ table }) => table.replaceAll('"', '')).sort()).toEqual([
      'account',
      'api_key',
      'email_record',
      'idempotent_answer',
      'job',
      'profile',
      'user',
    ])
    for (const { columns } of primary) expect(columns).toBe('tenant_app_id,id')
    const foreign = tables.filter(({ kind }) => kind === 'f')
    expect(foreign).toHaveLength(7)
    for (const { columns } of foreign) expect(columns).toMatch(/^tenant_app_id(,\w+_id)?$/)
  })

  it('refuses a row that points into another tenant', async () => {
    const { tenantAppId } = mine
    const account = { id: 'x', platform: 'X', platformAccountId: 'x', displayName: 'x' }
    const stray = app.database.prisma.account.create({ data: { ...account, tenantAppId, userId: other.user.id } })
    await expect(stray).rejects.toMatchObject({ code: 'P2003' })
  })
})
