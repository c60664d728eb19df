import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eraseUsers, findMentions } from '../../src/domain/erasure/erase-users.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { jobClient, present } from '../support/jobs.ts'
import { runs } from '../support/runs.ts'

let app: TestApp
let tenant: TestTenant
let other: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  other = await app.createTenant()
})
afterAll(() => app.close())

/** Erases until every deletion has been searched for, which other transactions of the server can delay. */
async function erase(): Promise<void> {
  do await eraseUsers(app.database)
  while ((await app.database.prisma.erasure.count({ where: { jobs: { equals: null } } })) > 0)
}

/** Sends a request of the REST interface once. */
async function sendOnce(method: 'POST' | 'DELETE', url: string, payload: object, key: string) {
  const headers = { 'x-api-key': tenant.key, 'idempotency-key': key }
  const { statusCode, body } = await app.app.inject({ method, url, headers, payload })
  return { status: statusCode, body: JSON.parse(body) }
}

const createJob = async (payload: object, of = tenant) =>
  present((await jobClient(app, of)('createJob', { jobType: 'x', payload })).job).id

const deleteUser = 'mutation ($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId userErrors { message } } }'

const findJob = (id: string, { tenantAppId } = tenant) =>
  app.database.prisma.job.findUniqueOrThrow({ where: { tenantAppId_id: { tenantAppId, id } } })

/** The columns that name a user, apart from the event log. */
async function columnsNaming(userId: string, ...texts: string[]) {
  await settleEvents(app)
  const mentions = await findMentions(app.database, { userId, texts })
  return mentions.filter(({ isKept }) => !isKept).map(({ table, column }) => `${table}.${column}`)
}

/** A user with an account and a profile, who was created with an idempotency key. */
async function createNamed(name: string) {
  const email = `${name}@example.com`
  const created = await sendOnce('POST', '/users', { name: 'Ada', email, phone: '1' }, name)
  const userId = String(created.body.id)
  const factories = factoriesFor(app, tenant)
  const account = await factories.account(userId)
  const profile = await factories.profile(account)
  // The event log no longer has the profile.
  await app.database.runAsOwner(`DELETE FROM event WHERE resource_id = '${profile.id}'`)
  return { userId, email, accountId: account.id, profileId: profile.id, created }
}

it('the deletion of a user erases the responses, payloads and results that name the user', async () => {
  const { userId, email, accountId, profileId, created } = await createNamed('ada')
  const ids = {
    pending: await createJob({ userId }),
    profile: await createJob({ text: `see\n${profileId}` }),
    email: await createJob({ to: email }),
    account: await createJob({ url: `https://example.com/accounts/${accountId}/videos` }),
    similar: await createJob({ userId: `${userId}0` }),
    elsewhere: await createJob({ userId }, other),
  }
  const done = await createJob({})
  await app.database.prisma.job.updateMany({
    where: { id: done },
    data: { status: 'SUCCEEDED', result: { by: userId } },
  })
  expect(await columnsNaming(userId, email)).toEqual([
    'account.id',
    'account.user_id',
    'idempotent_answer.answer',
    'job.payload',
    'job.result',
    'profile.account_id',
    'user.id',
    'user.email',
  ])

  const request = { query: deleteUser, variables: { id: userId } }
  const deleted = await sendOnce('POST', '/graphql', request, 'delete-ada')
  const later = await createJob({ deletedUserId: userId })
  await erase()

  const erased = { status: 'CANCELLED', payload: null, result: null, finishedAt: expect.any(Date) }
  for (const id of [ids.pending, ids.profile, ids.account]) expect(await findJob(id)).toMatchObject(erased)
  expect(await findJob(done)).toMatchObject({ status: 'SUCCEEDED', payload: null, result: null })
  expect(await findJob(ids.similar)).toMatchObject({ status: 'PENDING', payload: { userId: `${userId}0` } })
  // Everybody can have any address, so it is no reason to erase. The operator can look for it.
  expect(await findJob(ids.email)).toMatchObject({ status: 'PENDING', payload: { to: email } })
  expect(await findJob(ids.elsewhere, other)).toMatchObject({ status: 'PENDING', payload: { userId } })
  // What was written by the deletion, or after it, is not erased.
  expect(await findJob(later)).toMatchObject({ status: 'PENDING', payload: { deletedUserId: userId } })
  expect(await sendOnce('POST', '/graphql', request, 'delete-ada')).toEqual(deleted)
  // A repetition of the first request does not create the user again.
  expect(created.status).toBe(201)
  expect(await sendOnce('POST', '/users', { name: 'Ada', email, phone: '1' }, 'ada')).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('named a user who was deleted') },
  })
  expect(await app.database.prisma.user.count({ where: { email } })).toBe(0)

  await app.database.prisma.job.deleteMany({ where: { id: { in: [later, ids.elsewhere] } } })
  await app.database.prisma.idempotentResponse.deleteMany({ where: { response: { contains: 'deletedUserId' } } })
  expect(await columnsNaming(userId)).toEqual([])
  expect(await columnsNaming(userId, email)).toEqual(['job.payload'])
})

it('the external id of a user is a name, and metadata is erased with the user', async () => {
  const { id: userId } = await factoriesFor(app, tenant).user({
    externalId: 'crm-7',
    metadata: { note: 'secret-note' },
  })
  const change = 'mutation { upsertUser(input: { externalId: "crm-7", name: "Eve" }) { user { externalId metadata } } }'
  const kept = await sendOnce('POST', '/graphql', { query: change }, 'upsert-crm-7')
  expect(kept.body.data.upsertUser.user.metadata).toEqual({ note: 'secret-note' })
  const jobs = [await createJob({ user: 'crm-7' }), await createJob({ user: 'crm-70', text: 'of crm-7' })]
  expect(await columnsNaming(userId, 'secret-note')).toContain('idempotent_answer.answer')
  await app.graphql(tenant, deleteUser, { id: userId })
  await erase()
  expect(await findJob(String(jobs[0]))).toMatchObject({ status: 'CANCELLED', payload: null })
  // Shorter than 20 characters: only a whole string of JSON is a name.
  expect(await findJob(String(jobs[1]))).toMatchObject({ status: 'PENDING' })
  expect(await columnsNaming(userId, 'secret-note')).toEqual([])
  await app.database.prisma.job.deleteMany({ where: { id: { in: jobs } } })
})

it('ids that clients have chosen for accounts are no names', async () => {
  const { id: userId } = await factoriesFor(app, tenant).user()
  // A token's user can choose the id of the profile of somebody else.
  const ofProfile = `prf_${randomUUID()}`
  for (const id of ['url', `usr_${randomUUID()}`, ofProfile]) {
    const input = { id, userId, platform: 'X', platformAccountId: id, displayName: 'x' }
    const query = 'mutation ($input: LinkAccountInput!) { linkAccount(input: $input) { account { id } } }'
    await app.graphql(tenant, query, { input })
  }
  const job = await createJob({ url: 'https://example.com', of: 'url', profile: ofProfile })
  await app.graphql(tenant, deleteUser, { id: userId })
  await erase()
  expect(await findJob(job)).toMatchObject({ status: 'PENDING', payload: { of: 'url' } })
  expect(await columnsNaming(userId)).toEqual([])
})

it('thousands of names of a user are looked up in long payloads', async () => {
  const { tenantAppId } = tenant
  const { id: userId } = await factoriesFor(app, tenant).user()
  const { prisma } = app.database
  await prisma.$executeRaw`
    INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, updated_at)
    SELECT ${tenantAppId}, 'acc_' || gen_random_uuid(), ${userId}, 'X', 'many-' || number, 'x', now() FROM generate_series(1, 2000) AS number`
  const last = await prisma.account.findFirstOrThrow({ where: { platformAccountId: 'many-2000' } })
  const length = runs(6_000)
  await prisma.$executeRaw`
    INSERT INTO job (tenant_app_id, id, payload, updated_at)
    SELECT ${tenantAppId}, 'job_long_' || number,
      json_build_object('text', repeat('some words ', ${length}) || CASE number WHEN 99 THEN ${last.id} ELSE '' END), now()
    FROM generate_series(0, 99) AS number`
  await app.graphql(tenant, deleteUser, { id: userId })
  await erase()
  const erased = await prisma.job.findMany({ where: { id: { startsWith: 'job_long_' }, status: 'CANCELLED' } })
  expect(erased.map(({ id }) => id)).toEqual(['job_long_99'])
})

it('a job that runs ends before what names the user is erased', async () => {
  const { userId } = await createNamed('bob')
  const id = await createJob({ userId })
  const call = jobClient(app, tenant)
  const { leases } = await call('claimJobs', { jobTypes: ['x'], limit: 100 })
  const { leaseToken } = present(present(leases).find(({ job }) => job.id === id))
  await app.graphql(tenant, deleteUser, { id: userId })
  await erase()
  expect(await findJob(id)).toMatchObject({ status: 'RUNNING', payload: { userId } })
  await call('completeJob', { id, leaseToken, result: { userId } })
  await erase()
  expect(await findJob(id)).toMatchObject({ status: 'SUCCEEDED', payload: null, result: null })
  expect(await app.database.prisma.erasure.count()).toBe(0)
})

it('all jobs of a tenant are read, in pages, and short ids only match whole strings', async () => {
  const { tenantAppId } = tenant
  await app.database.prisma.user.create({ data: { tenantAppId, id: '42', name: 'n', email: 'forty@example.com' } })
  await app.database.prisma.job.createMany({
    data: Array.from({ length: 120 }, (_, index) => ({
      tenantAppId,
      id: `job_page_${index}`,
      payload: { count: 42, text: 'at 42', user: index === 119 ? '42' : '43' },
    })),
  })
  await app.database.prisma.user.delete({ where: { tenantAppId_id: { tenantAppId, id: '42' } } })
  await erase()
  const erased = await app.database.prisma.job.findMany({
    where: { id: { startsWith: 'job_page_' }, status: 'CANCELLED' },
  })
  expect(erased.map(({ id }) => id)).toEqual(['job_page_119'])
})

it('maintenance sends one statement to each server while no user has been deleted', async () => {
  const servers = Math.max(1, app.database.sql.nodes.filter((node) => node.hasRows()).length)
  expect(await app.statementsOf(() => eraseUsers(app.database))).toHaveLength(servers)
})

it('a tenant can be deleted with its users', async () => {
  const short = await app.createTenant()
  await factoriesFor(app, short).user()
  await app.database.prisma.tenantApp.delete({ where: { id: short.tenantAppId } })
  expect(await app.database.prisma.erasure.count()).toBe(0)
})

it('rows of another tenant with the same ids, as after a copy of its rows, stay, and name nobody else', async () => {
  const { prisma } = app.database
  const [mine, theirs] = [await app.createTenant(), await app.createTenant()]
  const id = `usr_${randomUUID()}`
  const add = (of: TestTenant, name: string, payload: object, status: 'PENDING' | 'RUNNING' = 'PENDING') =>
    factoriesFor(app, of).job({ id: `job_same_${name}`, payload: JSON.stringify(payload), status })
  const remember = (of: TestTenant) =>
    prisma.idempotentResponse.create({
      data: { tenantAppId: of.tenantAppId, id: 'same', fingerprint: 'same', response: id },
    })
  const payloadsOf = async ({ tenantAppId }: TestTenant) => {
    const rows = await prisma.job.findMany({ where: { tenantAppId } })
    return Object.fromEntries(rows.map((row) => [row.id.replace('job_same_', ''), row.payload !== null]))
  }
  const erasuresOf = ({ tenantAppId }: TestTenant) => prisma.erasure.findMany({ where: { tenantAppId } })

  for (const each of [mine, theirs]) await factoriesFor(app, each).user({ id })
  const account = await factoriesFor(app, theirs).account(id)
  await add(theirs, 'runs there', { id }, 'RUNNING')
  await app.graphql(theirs, deleteUser, { id })
  await erase()
  const before = await erasuresOf(theirs)
  expect(before).toMatchObject([{ id, jobs: ['job_same_runs there'] }])

  await add(mine, 'runs there', {})
  for (const name of ['named', 'named there', 'runs here']) await add(theirs, name, { id })
  await add(mine, 'named', { id })
  await add(mine, 'named there', {})
  await add(mine, 'runs here', { id }, 'RUNNING')
  await add(mine, 'of their account', { account: account.id })
  for (const each of [mine, theirs]) await remember(each)
  await app.graphql(mine, deleteUser, { id })
  await erase()
  expect(await payloadsOf(mine)).toEqual({
    named: false,
    'named there': true,
    'runs here': true,
    'runs there': true,
    'of their account': true,
  })
  const kept = { named: true, 'named there': true, 'runs here': true, 'runs there': true }
  expect(await payloadsOf(theirs)).toEqual(kept)
  const responses = await prisma.idempotentResponse.findMany({ where: { id: 'same', response: id } })
  expect(responses.map(({ tenantAppId }) => tenantAppId)).toEqual([theirs.tenantAppId])
  expect(await erasuresOf(theirs)).toEqual(before)
  expect(await erasuresOf(mine)).toHaveLength(1)

  // The jobs of the first deletion still run in one tenant, and those of the second one have ended in the other.
  const ended = { tenantAppId: mine.tenantAppId, id: { in: ['job_same_runs here', 'job_same_runs there'] } }
  await prisma.job.deleteMany({ where: ended })
  await erase()
  expect(await erasuresOf(theirs)).toEqual(before)
  expect(await erasuresOf(mine)).toEqual([])
})

it('a search that another process does is left to it, also if one with the same id is due in another tenant', async () => {
  const [{ tenantAppId: one }, { tenantAppId: two }] = [await app.createTenant(), await app.createTenant()]
  await app.database.runAsOwner(`
    INSERT INTO erasure (tenant_app_id, id, names, seen_in, due_at)
    SELECT tenant, 'usr_' || other, '{}', '', CASE WHEN tenant = other THEN now() ELSE now() + interval '1 hour' END
    FROM unnest(ARRAY['${one}', '${two}']) AS tenant, unnest(ARRAY['${one}', '${two}']) AS other`)
  const where = { tenantAppId: { in: [one, two] } }
  do await eraseUsers(app.database)
  while ((await app.database.prisma.erasure.count({ where })) > 2)
  const left = await app.database.prisma.erasure.findMany({ where })
  const expected = [
    [one, `usr_${two}`],
    [two, `usr_${one}`],
  ]
  expect(left.map(({ tenantAppId, id }) => [tenantAppId, id]).sort()).toEqual(expected.sort())
})
