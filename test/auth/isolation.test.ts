import { readFileSync } from 'node:fs'
import { type GraphQLInputType, getNamedType, isInputObjectType, isNonNullType } from 'graphql'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startUsageWriter } from '../../src/domain/usage/usage-writer.ts'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { queryOf } from '../support/schema-cases.ts'

const { schema } = schemas

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
    await prisma.webhook.findMany({ where }),
    await prisma.webhookDelivery.findMany({ where }),
    await prisma.apiKey.findMany({ where, omit: { lastUsedAt: true } }),
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

/** The values of the other tenant that a text contains. */
function leaks(text: string): string[] {
  const { user, account, profile, email, job, webhook } = other
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
    webhook.id,
  ]
  return [...secrets, theirs.tenantAppId, theirs.name].filter((secret) => text.includes(secret))
}

describe('GraphQL treats an id of another tenant as a missing id', () => {
  const cases: [string, () => string][] = [
    ['user(id: $id) { id name }', () => other.user.id],
    ['account(id: $id) { id user { id } profile { id } }', () => other.account.id],
    ['job(id: $id) { id payload }', () => other.job.id],
    ['webhook(id: $id) { id deliveries { nodes { id } } }', () => other.webhook.id],
    ['profiles(accountIds: [$id]) { id }', () => other.account.id],
    ...(['user', 'account', 'profile', 'email', 'job', 'webhook'] as const).flatMap(
      (type): [string, () => string][] => [
        [`node(id: $id) { id } # ${type}`, () => other[type].id],
        [`nodes(ids: [$id]) { id } # ${type}`, () => other[type].id],
      ],
    ),
  ]

  it.each(cases)('in %s', async (field, id) => {
    const query = `query ($id: ID!) { ${field}\n }`
    const foreign = await app.graphql(mine, query, { id: id() })
    const missing = await app.graphql(mine, query, { id: 'nobody' })
    expect(foreign).toEqual(missing)
    expect(foreign.errors).toBeUndefined()
    expect(JSON.stringify(foreign.data)).toMatch(/null|\[\]/)
  })

  it('in updateUser, which reports NOT_FOUND and changes nothing', async () => {
    const mutation =
      'mutation ($id: ID!) { updateUser(input: { id: $id, name: "Taken" }) { user { id } userErrors { code } } }'
    const answer = await app.graphql(mine, mutation, { id: other.user.id })
    expect(answer).toEqual(await app.graphql(mine, mutation, { id: 'nobody' }))
    expect(answer.data['updateUser']).toEqual({ user: null, userErrors: [{ code: 'NOT_FOUND' }] })
    expect(await theirRows()).toBe(before)
  })

  it('in updateUser without a change', async () => {
    const mutation = 'mutation ($id: ID!) { updateUser(input: { id: $id }) { user { id name } userErrors { code } } }'
    const answer = await app.graphql(mine, mutation, { id: other.user.id })
    expect(answer.data['updateUser']).toEqual({ user: null, userErrors: [{ code: 'NOT_FOUND' }] })
  })
})

describe('a mutation with an id of another tenant', () => {
  /** Valid values for the other fields of an input. */
  const samples: Record<string, string | number> = {
    ...{ name: 'Taken', email: 'a@b', phone: '1', platform: 'X', platformAccountId: 'new', displayName: 'Taken' },
    // The lease token of the other tenant's worker.
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
    if (/Webhook|redeliver/.test(mutation)) return other.webhook.id
    if (mutation === 'revokeApiKey') return theirs.keyId
    if (field === 'accountId' || /Accounts?$/.test(mutation))
      return field === 'userId' ? other.user.id : other.account.id
    return other.user.id
  }
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {}).flatMap(({ name, args }) => {
    const input = getNamedType(args[0]?.type as GraphQLInputType)
    if (!isInputObjectType(input)) throw new Error(`${name} takes no input`)
    const required = Object.values(input.getFields()).filter(({ type }) => isNonNullType(type))
    const isById = required.some(({ type }) => getNamedType(type).name === 'ID')
    return isById ? [{ name, isBulk: args[0]?.name === 'inputs', query: queryOf(name, args[0], input), required }] : []
  })

  it.each(mutations)(
    'treats the id as missing and changes nothing: $name',
    async ({ name, isBulk, query, required }) => {
      const send = (id: (field: string) => string) => {
        const values = required.map((field) => [
          field.name,
          getNamedType(field.type).name === 'ID' ? id(field.name) : samples[field.name],
        ])
        return app.graphql<Record<string, unknown>>(mine, query, { input: Object.fromEntries(values) })
      }
      const foreign = await send((field) => theirId(name, field))
      expect(foreign).toEqual(await send(() => 'nobody'))
      const payload = { userErrors: [{ code: 'NOT_FOUND' }] }
      expect(foreign.data[name]).toMatchObject(isBulk ? { results: [payload] } : payload)
      expect(await theirRows()).toBe(before)
    },
  )

  it('treats the id as missing even if the account is already linked: linkAccount', async () => {
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

  it('is one of 22 mutations', () => {
    expect(mutations.map(({ name }) => name).sort()).toEqual([
      'cancelJob',
      'completeJob',
      'deleteUser',
      'deleteUsers',
      'deleteWebhook',
      'extendJobLease',
      'failJob',
      'linkAccount',
      'linkAccounts',
      'redeliverEvents',
      'reportJobProgress',
      'retryJob',
      'revokeApiKey',
      'rotateWebhookSecret',
      'syncProfile',
      'syncProfiles',
      'unlinkAccount',
      'unlinkAccounts',
      'updateAccount',
      'updateUser',
      'updateUsers',
      'updateWebhook',
    ])
  })
})

describe('claimJobs', () => {
  it('does not claim a waiting job of another tenant with the same id', async () => {
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

  it("claims only jobs of the viewer's tenant, which has its own idempotency keys", async () => {
    const create = `mutation { createJob(input: { jobType: "shared", idempotencyKey: "one" }) { job { id } } }`
    const { data } = await app.graphql<{ createJob: { job: { id: string } } }>(theirs, create)
    const claim = `mutation { claimJobs(input: { jobTypes: ["shared"] }) { leases { job { id } } } }`
    expect((await app.graphql(mine, claim)).data).toEqual({ claimJobs: { leases: [] } })
    const own = (await app.graphql<typeof data>(mine, create)).data.createJob.job
    expect(own.id).not.toBe(data.createJob.job.id)
    expect((await app.graphql(mine, claim)).data).toEqual({ claimJobs: { leases: [{ job: own }] } })
    await app.database.prisma.job.deleteMany({ where: { jobType: 'shared' } })
  })
})

it('this file tests every field of Query', () => {
  const source = readFileSync(import.meta.filename, 'utf8')
  const fields = Object.keys(schema.getQueryType()?.getFields() ?? {})
  expect(fields.filter((field) => !new RegExp(`\\b${field}\\b *[({]`).test(source))).toEqual([])
})

describe('a GraphQL list', () => {
  it('apiKeys returns only keys of the tenant', async () => {
    const { data } = await app.graphql(mine, '{ apiKeys(first: 500) { nodes { id name } } }')
    expect(data['apiKeys']).toEqual({ nodes: [{ id: mine.keyId, name: 'key of Mine' }] })
  })

  it('usage has only what the tenant has requested', async () => {
    await app.graphql(theirs, 'query OfTheirs { users { nodes { id } } }')
    await startUsageWriter(app.services, { log: app.app.log })()
    const query = (more: string) => app.graphql(mine, `{ usage(first: 500) { nodes { keyId operationName } ${more} } }`)
    const { data } = await query('operations { keyId } fields { field requests }')
    expect(JSON.stringify(data)).toContain(mine.keyId)
    expect(JSON.stringify(data)).not.toMatch(new RegExp(`OfTheirs|${theirs.keyId}`))
  })

  it('webhooks returns only webhooks of the tenant, with their deliveries', async () => {
    const { data } = await app.graphql(mine, '{ webhooks(first: 500) { nodes { id deliveries { nodes { id } } } } }')
    const { id } = own.webhook
    expect(data['webhooks']).toEqual({ nodes: [{ id, deliveries: { nodes: [{ id: `dlv_${id}` }] } }] })
  })

  it('events returns only events of the tenant', async () => {
    type Events = { readonly events: { readonly nodes: readonly { readonly id: string }[] } }
    await settleEvents(app)
    const { data } = await app.graphql<Events>(mine, '{ events(first: 500) { nodes { id } } }')
    const rows = await app.database.prisma.event.findMany({ where: { tenantAppId: mine.tenantAppId } })
    expect(rows.length).toBeGreaterThan(3)
    expect(data.events.nodes.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort())
  })

  it('of accounts and profiles, and tenantStats, know only rows of the tenant', async () => {
    const { data } = await app.graphql(
      mine,
      `{ accounts(first: 50) { totalCount nodes { id user { id } } } searchProfiles(first: 50) { totalCount nodes { id account { id } } }
        tenantStats { users accounts profiles accountsByPlatform { platform count } jobsByStatus { status count } } }`,
    )
    expect(data).toEqual({
      accounts: { totalCount: 1, nodes: [{ id: own.account.id, user: { id: own.user.id } }] },
      searchProfiles: { totalCount: 1, nodes: [{ id: own.profile.id, account: { id: own.account.id } }] },
      tenantStats: {
        ...{ users: 1, accounts: 1, profiles: 1 },
        accountsByPlatform: [{ platform: own.account.platform, count: 1 }],
        jobsByStatus: [{ status: 'PENDING', count: 1 }],
      },
    })
  })

  it("returns and counts only rows of the viewer's tenant, through every relation and back", async () => {
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

  it('finds no row of another tenant by a filter or cursor of that tenant', async () => {
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

  it('does not mix up rows of two tenants with the same ids', async () => {
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
    '%s %s returns the same 404 for an id of another tenant and a missing id, except for the request id',
    async (method, url) => {
      const id = url.startsWith('/users') ? other.user.id : other.job.id
      const body = method === 'PUT' ? { name: 'Taken' } : undefined
      const [foreign, missing] = [
        await app.rest(mine, method, url.replace(':id', id), body),
        await app.rest(mine, method, url.replace(':id', 'nobody'), body),
      ]
      const withoutRequestId = ({ body: text, headers }: typeof foreign) =>
        text.replaceAll(String(headers['x-request-id']), '')
      expect(foreign.statusCode).toBe(404)
      expect(withoutRequestId(foreign)).toBe(withoutRequestId(missing))
      expect(await theirRows()).toBe(before)
    },
  )

  it('returns no row of another tenant in lists and profiles', async () => {
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

  it('creates a user in the tenant of the key, even if the body names another tenant', async () => {
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

describe('the database', () => {
  it('has the tenant in every primary key and every foreign key', async () => {
    const rows = await app.database.prisma.$queryRaw<{ table: string; kind: string; columns: string }[]>`
      SELECT c.conrelid::regclass::text AS "table", c.contype::text AS kind, string_agg(a.attname, ',' ORDER BY k.n) AS columns
      FROM pg_constraint c
      CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(attnum, n)
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum
      JOIN pg_class t ON t.oid = c.conrelid AND NOT t.relispartition
      WHERE c.conparentid = 0 AND c.connamespace = 'public'::regnamespace AND c.contype IN ('p', 'f')
      GROUP BY c.oid, 1, 2`
    const tables = rows.filter(
      ({ table }) => !['tenant_app', 'signing_key', 'event_state', '_prisma_migrations'].includes(table),
    )
    const primary = tables.filter(({ kind }) => kind === 'p')
    expect(primary.map(({ table }) => table.replaceAll('"', '')).sort()).toEqual([
      'account',
      'api_key',
      'email_record',
      'erasure',
      'event',
      'field_usage',
      'idempotent_answer',
      'job',
      'operation_usage',
      'profile',
      'user',
      'webhook',
      'webhook_delivery',
    ])
    for (const { columns } of primary) expect(columns).toBe('tenant_app_id,id')
    const foreign = tables.filter(({ kind }) => kind === 'f')
    expect(foreign).toHaveLength(12)
    for (const { columns } of foreign) expect(columns).toMatch(/^tenant_app_id(,\w+_id)?$/)
  })

  it('rejects a row that refers to a row of another tenant', async () => {
    const { tenantAppId } = mine
    const account = { id: 'x', platform: 'X', platformAccountId: 'x', displayName: 'x' }
    const created = app.database.prisma.account.create({ data: { ...account, tenantAppId, userId: other.user.id } })
    await expect(created).rejects.toMatchObject({ code: 'P2003' })
  })
})
