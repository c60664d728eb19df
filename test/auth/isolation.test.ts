import { once } from 'node:events'
import { createContext } from '@fusion-gateway/gateway-kit'
import { newestFirst } from '@fusion-gateway/prisma-trees'
import { type GraphQLField, getNamedType, getNullableType, isListType, isObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { followJobs } from '../../src/domain/job/job.service.ts'
import type { JobContext } from '../../src/domain/job/worker/handler.ts'
import { startWorker } from '../../src/domain/job/worker/worker.ts'
import { scopes } from '../../src/domain/scopes.ts'
import { startUsageWriter } from '../../src/domain/usage/write-usage.ts'
import { routes } from '../../src/rest/routes.ts'
import { importFile } from '../../src/transfer/import.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, settleEvents, subscribe } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { isDistributed } from '../support/postgresql.ts'
import { bodyOf } from '../support/route-requests.ts'
import {
  idArguments,
  inputsOf,
  listCase,
  listVariables,
  mutationCases,
  rootFields,
  selection,
  selections,
} from './schema-cases.ts'

/**
 * Two tenants with rows of the same ids. Every text column names the tenant, so a read or write without a condition on
 * the tenant is visible in every field, argument and path.
 */
let app: TestApp
let mine: TestTenant
let theirs: TestTenant

const sharedIds = {
  User: 'twin_user',
  Account: 'twin_account',
  Profile: 'twin_profile',
  EmailRecord: 'twin_email',
  Job: 'twin_job',
  Webhook: 'twin_webhook',
}
const ownIds = (): Record<string, string> => ({ ...sharedIds, ApiKey: mine.keyId })
const leaseToken = '6a0f1d7e-0000-4000-8000-000000000001'

async function createRows(tenant: TestTenant) {
  const create = factoriesFor(app, tenant)
  const label = (kind: string) => `${kind} of ${tenant.name}`
  await create.user({
    id: sharedIds.User,
    name: label('User'),
    email: `${tenant.name}@example.com`,
    phone: label('Phone'),
  })
  const account = { id: sharedIds.Account, platformAccountId: label('Account'), displayName: label('Account') }
  await create.account(sharedIds.User, account)
  await create.profile({ ...account, platform: 'YOUTUBE' }, { id: sharedIds.Profile, fullName: label('Profile') })
  await create.email(sharedIds.Profile, { id: sharedIds.EmailRecord, value: label('Email') })
  const job = { payload: { of: label('Job') }, status: 'RUNNING', leaseToken, leaseExpiresAt: new Date(4e12) } as const
  await create.job({ id: sharedIds.Job, ...job, runAt: new Date(), maxAttempts: 3, attempts: 1 })
  await create.webhook({ id: sharedIds.Webhook, description: label('Webhook') })
  // One row of each kind with an id that only this tenant has.
  const user = await create.user({ id: `own_user_${tenant.name}`, name: label('Own user') })
  const own = await create.account(user.id, { id: `own_account_${tenant.name}`, displayName: label('Own account') })
  const profile = await create.profile(own, { id: `own_profile_${tenant.name}`, fullName: label('Own profile') })
  await create.email(profile.id, { id: `own_email_${tenant.name}`, value: label('Own email') })
  await create.job({
    id: `own_job_${tenant.name}`,
    ...job,
    payload: { of: label('Own job') },
    runAt: new Date(),
    maxAttempts: 3,
  })
  await create.webhook({ id: `own_webhook_${tenant.name}`, description: label('Own webhook') })
}

beforeAll(async () => {
  app = await startTestApp()
  ;[mine, theirs] = [await app.createTenant('Mine'), await app.createTenant('Theirs')]
  await createRows(mine)
  await createRows(theirs)
})
afterAll(() => app.close())

/** The ids of rows that only the other tenant has, by their types. */
const ownOfThem = (): Record<string, string> => ({
  User: 'own_user_Theirs',
  Account: 'own_account_Theirs',
  Profile: 'own_profile_Theirs',
  EmailRecord: 'own_email_Theirs',
  Job: 'own_job_Theirs',
  Webhook: 'own_webhook_Theirs',
  ApiKey: theirs.keyId,
})
const foreignIds = () => Object.values(ownOfThem())
const missingIds = () => foreignIds().map((id) => `nobody_${id}`)

/** Writes the rows of the viewer's tenant again, after a mutation or a route has deleted or changed them. */
async function restoreRows() {
  await app.database.prisma.user.deleteMany({ where: { tenantAppId: mine.tenantAppId } })
  await app.database.prisma.job.deleteMany({ where: { tenantAppId: mine.tenantAppId } })
  await app.database.prisma.webhook.deleteMany({ where: { tenantAppId: mine.tenantAppId } })
  await createRows(mine)
}

/** All rows of the other tenant, as text. */
async function theirRows() {
  const tables = [
    '"user"',
    'account',
    'profile',
    'profile_metric',
    'email_record',
    'job',
    'api_key',
    'webhook',
    'webhook_delivery',
  ]
  const rows = tables.map(
    (table) => `SELECT '${table}', to_json(t)::text FROM ${table} t WHERE tenant_app_id = '${theirs.tenantAppId}'`,
  )
  return JSON.stringify(await app.database.prisma.$queryRawUnsafe(`${rows.join(' UNION ALL ')} ORDER BY 1, 2`))
}

function isTheirs(text: string): boolean {
  return text.includes('Theirs') || text.includes(theirs.tenantAppId)
}

describe('GraphQL: a query field with an id argument', () => {
  const fields = rootFields('getQueryType').filter((field) => idArguments(field).length > 0)
  it('is node, nodes, profiles, or returns one type', () =>
    expect(fields.map(({ name }) => name).sort()).toEqual([
      'account',
      'apiKey',
      'emailRecord',
      'job',
      'node',
      'nodes',
      'profile',
      'profiles',
      'user',
      'webhook',
    ]))

  it.each(fields.map((field) => [field.name, field] as const))(
    "%s treats an id of another tenant as a missing id, and a shared id as the id of the viewer's row",
    async (name, field) => {
      const [{ name: argument, type }] = idArguments(field) as [GraphQLField<unknown, unknown>['args'][number]]
      const isList = isListType(getNullableType(type))
      const responses: unknown[] = []
      for (const selected of selections(getNamedType(field.type), 3)) {
        const query = `query ($id: ${type}) { ${name}(${argument}: $id) ${selected} }`
        const send = (ids: readonly (string | undefined)[]) => app.graphql(mine, query, { id: isList ? ids : ids[0] })
        // The deep selection of a type is read for the ids of that type. The others are sent below.
        const [typename = ''] = isList ? [] : (/(?<=\.\.\. on )\w+/.exec(selected) ?? [getNamedType(field.type).name])
        const missing = await send(isList ? missingIds() : ['nobody'])
        expect(missing.errors).toBeUndefined()
        expect(await send(isList ? foreignIds() : [ownOfThem()[typename]])).toEqual(missing)
        const { data, errors } = await send(isList ? Object.values(sharedIds) : [ownIds()[typename]])
        expect(errors).toBeUndefined()
        expect(isTheirs(JSON.stringify(data))).toBe(false)
        responses.push(data)
      }
      if (!isList) {
        const ids = [...foreignIds(), ...missingIds(), ...Object.values(ownIds())]
        const aliases = ids.map((id, index) => `n${index}: ${name}(${argument}: ${JSON.stringify(id)}) { __typename }`)
        const { data, errors } = await app.graphql(mine, `{ ${aliases.join(' ')} }`)
        expect(errors).toBeUndefined()
        const found = Object.values(data)
        const { length } = [...foreignIds(), ...missingIds()]
        expect(found.slice(0, length)).toEqual(Array.from({ length }, () => null))
        expect(found.slice(length)).toContainEqual(expect.anything())
      }
      // A key is named by the support of tests.
      expect(JSON.stringify(responses)).toContain(name === 'apiKey' ? mine.keyId : 'of Mine')
    },
  )
})

describe('GraphQL: a list', () => {
  const lists = rootFields('getQueryType').filter(({ args }) => args.some(({ name }) => name === 'first'))
  it('is one of eight', () =>
    expect(lists.map(({ name }) => name).sort()).toEqual([
      'accounts',
      'apiKeys',
      'events',
      'jobs',
      'searchProfiles',
      'usage',
      'users',
      'webhooks',
    ]))

  it.each(lists.map((field) => [field.name, field] as const))(
    "%s returns only rows of the viewer's tenant, at every level, for every filter and cursor",
    async (name, list) => {
      const connection = getNamedType(list.type)
      const { query, texts } = listCase(list, selection(connection, 1))
      expect(texts.length > 0 || ['apiKeys', 'events', 'usage', 'webhooks'].includes(name)).toBe(true)
      const theirPage = await app.graphql<Record<string, { edges: { cursor: string }[] }>>(
        theirs,
        `{ ${name} { edges { cursor } } }`,
      )
      const cursors = (theirPage.data[name]?.edges ?? []).map(({ cursor }) => cursor)
      // What a row shows of its relations does not depend on how the list found it.
      const deep = listCase(list, selection(connection, 3)).query
      const requests = [
        [deep, {}],
        ...listVariables(texts, cursors).map((variables) => [query, variables] as const),
      ] as const
      for (const [text, variables] of requests) {
        const { data, errors } = await app.graphql(mine, text, variables)
        expect(errors).toBeUndefined()
        expect(isTheirs(JSON.stringify(data))).toBe(false)
      }
      if (!isObjectType(connection) || !('totalCount' in connection.getFields())) return
      const { data } = await app.graphql<Record<string, { totalCount: number }>>(mine, `{ ${name} { totalCount } }`)
      expect(data[name]?.totalCount).toBe(2)
    },
  )
})

describe('GraphQL: a mutation', () => {
  const cases = mutationCases({ leaseToken })
  it('has an id in at least 20 places', () => expect(cases.length).toBeGreaterThan(19))

  it.each(cases)(
    '$name treats an id of another tenant as a missing id, and changes no row of that tenant',
    async ({ mutation, queryOf, field, required }) => {
      const before = await theirRows()
      // One operation with all ids: its mutations run one after the other, each with a transaction of its own.
      const ids = ['nobody', ...foreignIds(), ...Object.values(sharedIds)]
      const inputs = ids.map((id) => ({ ...required, [field]: id }))
      const { data, errors } = await app.graphql(mine, queryOf(ids.length), inputsOf(inputs))
      expect(errors).toBeUndefined()
      expect(await theirRows()).toBe(before)
      const results = Object.values(data)
      expect(results).toHaveLength(ids.length)
      for (const foreign of results.slice(1, 1 + foreignIds().length)) expect(foreign).toEqual(results[0])
      // The next mutation finds rows with the shared ids.
      if (/^(delete|unlink)/.test(mutation)) await restoreRows()
    },
  )
})

describe('GraphQL: a mutation without an id', () => {
  it.each([
    ['cancelJobs', 'cancelledCount'],
    ['retryJobs', 'retriedCount'],
  ])('%s changes and counts no job of another tenant with the same id', async (name, count) => {
    const before = await theirRows()
    const mutation = `mutation { ${name}(input: { filter: {} }) { ${count} remainingCount } }`
    expect((await app.graphql(mine, mutation)).data).toEqual({ [name]: { [count]: 2, remainingCount: 0 } })
    expect(await theirRows()).toBe(before)
  })
})

describe('GraphQL: a subscription', () => {
  const contextOf = ({ tenantAppId }: TestTenant) =>
    createContext(app.services, {
      viewer: { tenantAppId, tenantName: '', keyId: '', keyName: '', scopes },
      log: app.app.log,
      statements: { statements: 0 },
    })

  it('reads nothing when a job of another tenant with the same id changes', async () => {
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).job({ id: 'shared', status: 'PENDING' })
    const address = await addressOf(app)
    const query = 'subscription { job(id: "shared") { status } }'
    const [ownJob, foreignJob] = [
      await subscribe(address, mine.key, query),
      await subscribe(address, theirs.key, query),
    ]
    for (const job of [ownJob, foreignJob])
      expect((await job.next())?.data?.data).toEqual({ job: { status: 'PENDING' } })
    const statements = await app.statementsOf(async () => {
      const where = { tenantAppId: theirs.tenantAppId, id: 'shared' }
      await app.database.prisma.job.updateMany({ where, data: { status: 'CANCELLED' } })
      expect((await foreignJob.next())?.data?.data).toEqual({ job: { status: 'CANCELLED' } })
      expect(await foreignJob.next()).toMatchObject({ event: 'complete' })
    })
    // Its state, and the row.
    expect(statements.filter((sql) => sql.includes('job') && /^(SELECT|WITH)/.test(sql))).toHaveLength(2)
    ownJob.close()
  })

  it('of all jobs reads nothing when a job of another tenant with the same id changes', async () => {
    const order = newestFirst
    const page = { order, size: 20, fromEnd: false, after: undefined, before: undefined }
    const ownJobs = await followJobs(contextOf(mine), { states: undefined, ofNewest: {}, where: {}, page })
    const foreignJobs = await followJobs(contextOf(theirs), { states: undefined, ofNewest: {}, where: {}, page })
    // The jobs at the start of each subscription, then the change: a job was created.
    await ownJobs.next()
    await foreignJobs.next()
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).job({ id: 'listed', status: 'PENDING' })
    expect((await ownJobs.next()).value).toMatchObject([{ id: 'listed', status: 'PENDING' }])
    expect((await foreignJobs.next()).value).toMatchObject([{ id: 'listed', status: 'PENDING' }])
    const ownNext = ownJobs.next()
    const statements = await app.statementsOf(async () => {
      const foreignNext = foreignJobs.next()
      const where = { tenantAppId: theirs.tenantAppId, id: 'listed' }
      await app.database.prisma.job.updateMany({ where, data: { status: 'CANCELLED' } })
      expect((await foreignNext).value).toMatchObject([{ id: 'listed', status: 'CANCELLED' }])
    })
    expect(statements.filter((sql) => /^SELECT.*FROM "job"/s.test(sql))).toHaveLength(1)
    await ownJobs.return()
    await foreignJobs.return()
    await ownNext
  })
})

describe('a worker', () => {
  it('aborts only the job of the tenant that cancelled it', async () => {
    const begun = new Map([mine, theirs].map(({ name }) => [name, Promise.withResolvers<AbortSignal>()]))
    const release = Promise.withResolvers<void>()
    async function wait({ tenant }: { tenant: string }, { signal }: JobContext) {
      begun.get(tenant)?.resolve(signal)
      await Promise.race([release.promise, once(signal, 'abort')])
    }
    const { jobs, events } = app.services
    const options = { log: app.app.log, concurrency: 2, leaseSeconds: 30, pollMilliseconds: 50 }
    const worker = startWorker({ ...options, jobs, events, handlers: new Map([['wait', wait]]) })
    for (const tenant of [mine, theirs]) {
      const job = {
        id: 'working',
        jobType: 'wait',
        payload: { tenant: tenant.name },
        maxAttempts: 1,
        runAt: new Date(),
      }
      await factoriesFor(app, tenant).job(job)
    }
    const [ownSignal, foreignSignal] = await Promise.all([...begun.values()].map(({ promise }) => promise))
    await jobs.cancel({ tenantAppId: theirs.tenantAppId, id: 'working' })
    if (!foreignSignal?.aborted) await once(foreignSignal as AbortSignal, 'abort')
    expect(ownSignal?.aborted).toBe(false)
    release.resolve()
    await worker.stop(1_000)
    expect(await jobs.find({ tenantAppId: mine.tenantAppId, id: 'working' })).toMatchObject({ status: 'SUCCEEDED' })
  })
})

describe('claimJobs', () => {
  it('does not claim a waiting job of another tenant with the same id', async () => {
    const job = { id: 'claimed', jobType: 'shared_id', maxAttempts: 3, runAt: new Date() }
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).job({ ...job, status: 'FAILED' })
    for (const tenant of [mine, theirs]) {
      const { data } = await app.graphql(tenant, 'mutation { retryJob(input: { id: "claimed" }) { job { status } } }')
      expect(data).toEqual({ retryJob: { job: { status: 'PENDING' } } })
    }
    const claim = 'mutation { claimJobs(input: { jobTypes: ["shared_id"] }) { leases { job { id status } } } }'
    expect((await app.graphql(mine, claim)).data).toEqual({
      claimJobs: { leases: [{ job: { id: 'claimed', status: 'RUNNING' } }] },
    })
    const where = { tenantAppId: theirs.tenantAppId, id: 'claimed' }
    expect(await app.database.prisma.job.findFirst({ where })).toMatchObject({ status: 'PENDING', leaseToken: null })
    await app.database.prisma.job.deleteMany({ where: { id: 'claimed' } })
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

// test/graphql/stats.test.ts compares statistics with those of the tenant's rows alone.
it('every field of Query has an id, is a list or statistics, or knows the viewer alone', () => {
  const fields = rootFields('getQueryType')
  const others = fields.filter(
    (field) => idArguments(field).length === 0 && !field.args.some(({ name }) => name === 'first'),
  )
  expect(others.map(({ name }) => name).sort()).toEqual([
    'jobStats',
    'profileStats',
    'tenantStats',
    // resources/external-ids.test.ts
    'userByExternalId',
    'userStats',
    'viewer',
  ])
})

describe('REST', () => {
  beforeAll(() => restoreRows())

  const idsOfPaths = { '/users': 'User', '/accounts': 'Account', '/fusion/profiles': 'Account', '/fusion/jobs': 'Job' }
  const places = routes.flatMap((route) => {
    const paths = route.url.includes(':id')
      ? [(id: string) => ({ url: route.url.replace(':id', id), body: bodyOf(route, 'User of Mine') as unknown })]
      : []
    const isList = route.parameters.some(({ variable }) => variable === 'accountIds')
    const lists = isList
      ? [
          (id: string) => ({ url: `${route.url}?account_ids=${id}`, body: undefined as unknown }),
          (id: string) => ({ url: route.url, body: [id] as unknown }),
        ]
      : []
    // A route runs an operation of GraphQL, for which ids of all types are tried above.
    const [, typename] = Object.entries(idsOfPaths).find(([start]) => route.url.startsWith(start)) ?? []
    return [...paths, ...lists].map((at, index) => ({
      typename,
      name: `${route.method} ${route.url} #${index}`,
      method: route.method,
      at,
    }))
  })
  it('takes an id in 17 places', () => expect(places).toHaveLength(17))

  it.each(places)('treats an id of another tenant as a missing id: $name', async ({ method, at, typename = '' }) => {
    const before = await theirRows()
    const send = async (id = '') => {
      const { url, body } = at(id)
      const response = await app.rest(mine, method, url, body)
      return {
        status: response.statusCode,
        body: response.body.replaceAll(String(response.headers['x-request-id']), ''),
      }
    }
    const missing = await send('nobody')
    expect(await send(ownOfThem()[typename])).toEqual(missing)
    const shared = await send(ownIds()[typename])
    expect([shared.status < 500, isTheirs(shared.body)]).toEqual([true, false])
    expect(await theirRows()).toBe(before)
    if (method === 'DELETE') await restoreRows()
  })

  it("lists only rows of the viewer's tenant, with and without pages", async () => {
    for (const url of ['/users', '/users?limit=500', '/fusion/jobs']) {
      const { body } = await app.rest(mine, 'GET', url)
      expect(isTheirs(body)).toBe(false)
      expect(body).toContain(url === '/fusion/jobs' ? 'Job of Mine' : 'User of Mine')
    }
  })
})

describe('an import', () => {
  it("replaces only the emails of the viewer's profile when another tenant has a profile of the same id", async () => {
    const before = await theirRows()
    const record = {
      id: sharedIds.Profile,
      username: 'imported',
      user_platform: 'YOUTUBE',
      platform_account_id: 'Account of Mine',
      emails: [],
    }
    const chunks = async function* () {
      yield Buffer.from(`${JSON.stringify(record)}\n`)
    }
    const rejected: unknown[] = []
    const options = { tenantAppId: mine.tenantAppId, onReject: (reject: unknown) => void rejected.push(reject) }
    const imported = await importFile(app.database, { name: 'file', chunks: chunks() }, options)
    expect([rejected, imported]).toEqual([[], 1])
    expect(await theirRows()).toBe(before)
  })
})

describe('with one row of each kind', () => {
  let me: TestTenant
  let them: TestTenant
  let own: Awaited<ReturnType<typeof createOneOfEach>>
  let other: typeof own

  beforeAll(async () => {
    ;[me, them] = [await app.createTenant('One'), await app.createTenant('Other')]
    ;[own, other] = [await createOneOfEach(app, me), await createOneOfEach(app, them)]
  })

  it('linkAccount treats the id of a user of another tenant as missing even if the account is already linked', async () => {
    const link = (userId: string) =>
      app.graphql(
        me,
        `mutation ($userId: ID!) { linkAccount(input: { userId: $userId, platform: "${own.account.platform}", displayName: "x",
          platformAccountId: "${own.account.platformAccountId}" }) { userErrors { code field message } } }`,
        { userId },
      )
    const foreign = await link(other.user.id)
    expect(foreign).toEqual(await link('nobody'))
    expect(foreign.data['linkAccount']).toMatchObject({ userErrors: [{ code: 'NOT_FOUND', field: ['userId'] }] })
  })

  it('the list apiKeys returns only keys of the tenant', async () => {
    const { data } = await app.graphql(me, '{ apiKeys(first: 500) { nodes { id name } } }')
    expect(data['apiKeys']).toEqual({ nodes: [{ id: me.keyId, name: 'key of One' }] })
  })

  it('the list usage has only what the tenant has requested', async () => {
    await app.graphql(them, 'query OfThem { users { nodes { id } } }')
    await startUsageWriter(app.services, { log: app.app.log })()
    const query = (more: string) => app.graphql(me, `{ usage(first: 500) { nodes { keyId operationName } ${more} } }`)
    const { data } = await query('operations { keyId } fields { field requests }')
    expect(JSON.stringify(data)).toContain(me.keyId)
    expect(JSON.stringify(data)).not.toMatch(new RegExp(`OfThem|${them.keyId}`))
  })

  it('the list webhooks returns only webhooks of the tenant, with their deliveries', async () => {
    const { data } = await app.graphql(me, '{ webhooks(first: 500) { nodes { id deliveries { nodes { id } } } } }')
    const { id } = own.webhook
    expect(data['webhooks']).toEqual({ nodes: [{ id, deliveries: { nodes: [{ id: `dlv_${id}` }] } }] })
  })

  it('the list events returns only events of the tenant', async () => {
    type Events = { readonly events: { readonly nodes: readonly { readonly id: string }[] } }
    await settleEvents(app)
    const { data } = await app.graphql<Events>(me, '{ events(first: 500) { nodes { id } } }')
    const rows = await app.database.prisma.event.findMany({ where: { tenantAppId: me.tenantAppId } })
    expect(rows.length).toBeGreaterThan(3)
    expect(data.events.nodes.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort())
  })

  it('the lists of accounts and profiles, and tenantStats, know only rows of the tenant', async () => {
    const { data } = await app.graphql(
      me,
      `{ accounts(first: 50) { totalCount nodes { id user { id } } } searchProfiles(first: 50) { totalCount nodes { id account { id } } }
        tenantStats { users accounts profiles accountsByPlatform { platform count } jobsByStatus { status count } } }`,
    )
    expect(data).toEqual({
      accounts: { totalCount: 1, nodes: [{ id: own.account.id, user: { id: own.user.id } }] },
      searchProfiles: { totalCount: 1, nodes: [{ id: own.profile.id, account: { id: own.account.id } }] },
      tenantStats: {
        users: 1,
        accounts: 1,
        profiles: 1,
        accountsByPlatform: [{ platform: own.account.platform, count: 1 }],
        jobsByStatus: [{ status: 'PENDING', count: 1 }],
      },
    })
  })

  it('REST creates a user in the tenant of the key, even if the body names another tenant', async () => {
    const body = {
      name: 'A',
      email: 'a@b',
      phone: '1',
      tenant_app_id: them.tenantAppId,
      tenantAppId: them.tenantAppId,
    }
    const response = await app.rest(me, 'POST', '/users', body)
    expect(response.json().tenant_app_id).toBe(me.tenantAppId)
    expect(await app.database.prisma.user.count({ where: { tenantAppId: them.tenantAppId } })).toBe(1)
  })

  it('the database rejects a row that refers to a row of another tenant', async () => {
    const { tenantAppId } = me
    const account = { id: 'x', platform: 'X', platformAccountId: 'x', displayName: 'x' }
    const created = app.database.prisma.account.createMany({ data: { ...account, tenantAppId, userId: other.user.id } })
    await expect(created).rejects.toMatchObject({ code: 'P2003' })
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
      ({ table }) => !['tenant_app', 'signing_key', 'event_state', 'event_raise', '_prisma_migrations'].includes(table),
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
      'profile_metric',
      'user',
      'webhook',
      'webhook_delivery',
    ])
    for (const { table, columns } of primary) {
      expect(columns).toBe(table === 'profile_metric' ? 'tenant_app_id,profile_id,day' : 'tenant_app_id,id')
    }
    const foreign = tables.filter(({ kind }) => kind === 'f')
    // migrate distribute adds one from events to tenants.
    expect(foreign).toHaveLength(isDistributed ? 14 : 13)
    for (const { columns } of foreign) expect(columns).toMatch(/^tenant_app_id(,\w+_id)?$/)
  })
})
