import { createRateLimit } from '@fusion-gateway/limits'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, type EventStream, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { jobClient, present } from '../support/jobs.ts'
import { transports } from '../support/transports.ts'

let app: TestApp
let tenant: TestTenant
let address: string
let call: ReturnType<typeof jobClient>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  address = await addressOf(app)
  call = jobClient(app, tenant)
})
afterAll(() => app.close())

const jobSubscription = 'subscription Follow($id: ID!) { job(id: $id) { id status progress } }'
const jobsSubscription =
  'subscription ($filter: JobFilter, $first: Int) { jobs(filter: $filter, first: $first) { id status } }'

/** Changes a job, and waits until the gateway has received the change, so later subscribers do not get it. */
async function change<Result>(work: () => Promise<Result>, idOf: (result: Result) => string): Promise<Result> {
  const received = new Set<string>()
  const follower = await app.services.events.follow({ ...tenant, keyId: 'test' })
  const result = await work()
  const id = idOf(result)
  while (!received.has(id)) for (const { resourceId } of (await follower.next()) ?? []) received.add(resourceId)
  follower.return()
  return result
}

const create = (jobType: string, input = {}): Promise<string> =>
  change(
    async () => present((await call('createJob', { jobType, ...input })).job).id,
    (id) => id,
  )

async function nextJob(events: EventStream) {
  const event = await events.next()
  expect(event).toMatchObject({ event: 'next', data: { data: expect.anything() } })
  return event?.data?.data?.['job'] as { id: string; status: string; progress: number | null } | null
}

async function nextJobs(events: EventStream) {
  const event = await events.next()
  expect(event).toMatchObject({ event: 'next', data: { data: expect.anything() } })
  return event?.data?.data?.['jobs'] as { id: string; status: string }[]
}

describe('subscription { job }', () => {
  it('returns the current job, then every change', async () => {
    const id = await create('watched')
    const events = await subscribe(address, tenant.key, jobSubscription, { id })
    expect(events.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(events.headers.get('content-encoding')).toBeNull()
    expect(await nextJob(events)).toEqual({ id, status: 'PENDING', progress: null })
    const [lease] = present((await call('claimJobs', { jobTypes: ['watched'] })).leases)
    const { leaseToken } = present(lease)
    expect(await nextJob(events)).toMatchObject({ status: 'RUNNING' })
    await call('reportJobProgress', { id, leaseToken, progress: 0.5 })
    expect(await nextJob(events)).toEqual({ id, status: 'RUNNING', progress: 0.5 })
    await call('completeJob', { id, leaseToken })
    expect(await nextJob(events)).toMatchObject({ status: 'SUCCEEDED' })
    events.close()
  })

  it('completes when the job is finished, and at once if it was finished before', async () => {
    const id = await create('finished')
    const events = await subscribe(address, tenant.key, jobSubscription, { id })
    expect(await nextJob(events)).toMatchObject({ status: 'PENDING' })
    await call('cancelJob', { id })
    const late = await subscribe(address, tenant.key, jobSubscription, { id })
    for (const stream of [events, late]) {
      expect(await nextJob(stream)).toMatchObject({ status: 'CANCELLED' })
      expect(await stream.next()).toMatchObject({ event: 'complete' })
      expect(await stream.next()).toBeUndefined()
    }
  })

  it('sends no event when only the lease is extended', async () => {
    const id = await create('extended')
    const claim = async () => present((await call('claimJobs', { jobTypes: ['extended'] })).leases)
    const [lease] = await change(claim, () => id)
    const { leaseToken } = present(lease)
    const events = await subscribe(address, tenant.key, jobSubscription, { id })
    await nextJob(events)
    await call('extendJobLease', { id, leaseToken })
    await call('completeJob', { id, leaseToken })
    expect(await nextJob(events)).toMatchObject({ status: 'SUCCEEDED' })
    events.close()
  })

  it('sends no event when a user with the id of the job changes', async () => {
    const id = await create('twin')
    await factoriesFor(app, tenant).user({ id })
    const events = await subscribe(address, tenant.key, jobSubscription, { id })
    expect(await nextJob(events)).toMatchObject({ status: 'PENDING' })
    const rename = 'mutation ($id: ID!) { updateUser(input: { id: $id, name: "New" }) { user { name } } }'
    await change(
      () => app.graphql(tenant, rename, { id }),
      () => id,
    )
    await call('cancelJob', { id })
    expect(await nextJob(events)).toMatchObject({ status: 'CANCELLED' })
    events.close()
  })

  it('returns null and completes for a missing id and for an id of another tenant', async () => {
    const other = await app.createTenant()
    const { id: theirs } = await factoriesFor(app, other).job()
    for (const id of ['nobody', theirs, 'x\0y']) {
      const events = await subscribe(address, tenant.key, jobSubscription, { id })
      expect(await nextJob(events)).toBeNull()
      expect(await events.next()).toMatchObject({ event: 'complete' })
    }
  })

  it('completes with FORBIDDEN instead of the next event when the key has lost the scope', async () => {
    const { tenantAppId } = tenant
    const { row, key } = await createKey(app.database, { tenantAppId, name: 'narrowed' })
    const id = await create('narrowed')
    const events = await subscribe(address, key, jobSubscription, { id })
    expect(await nextJob(events)).toMatchObject({ status: 'PENDING' })
    await app.database.prisma.apiKey.updateMany({ where: { id: row.id }, data: { scopes: ['users:read'] } })
    await call('cancelJob', { id })
    expect(await events.next()).toMatchObject({ data: { errors: [{ extensions: { code: 'FORBIDDEN' } }] } })
    expect(await events.next()).toMatchObject({ event: 'complete' })
    events.close()
  })

  it('costs points for each event, and completes with RATE_LIMITED when the budget is spent', async () => {
    const log = { error: () => undefined, warn: () => undefined }
    const limited = await app.startAnother({ rateLimit: createRateLimit(3, { log }) })
    try {
      const mine = await limited.createTenant()
      const other = await createKey(limited.database, { tenantAppId: mine.tenantAppId, name: 'follows' })
      const events = await subscribe(await addressOf(limited), other.key, 'subscription { events { type } }')
      const make = factoriesFor(limited, mine)
      for (let count = 0; count < 3; count += 1) {
        await make.user()
        expect((await events.next())?.data?.data).toEqual({ events: { type: 'USER_CREATED' } })
      }
      await make.user()
      expect(await events.next()).toMatchObject({ data: { errors: [{ extensions: { code: 'RATE_LIMITED' } }] } })
      expect(await events.next()).toMatchObject({ event: 'complete' })
      events.close()
    } finally {
      await limited.close()
    }
  })

  it('completes with UNAUTHENTICATED instead of the next event when the key is revoked', async () => {
    const { key, row } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'gone' })
    const id = await create('revoked')
    const events = await subscribe(address, key, jobSubscription, { id })
    await nextJob(events)
    await revokeKey(app.database, row.id)
    await call('cancelJob', { id })
    const event = await events.next()
    expect(event?.data?.data).toBeUndefined()
    expect(event?.data?.errors?.[0]?.extensions['code']).toBe('UNAUTHENTICATED')
    expect(await events.next()).toMatchObject({ event: 'complete' })
  })

  it('is rejected without the scope, after a second, so that clients that try again at once do not delay others', async () => {
    const { key } = await createKey(app.database, {
      tenantAppId: tenant.tenantAppId,
      name: 'k',
      scopes: ['jobs:write'],
    })
    // It waits as in production, unlike other gateways of tests.
    const patient = await app.startAnother({ rejectionMilliseconds: undefined })
    const at = await addressOf(patient)
    const startedAt = performance.now()
    const events = await subscribe(at, key, jobSubscription, { id: 'x' })
    const event = await events.next()
    expect(performance.now() - startedAt).toBeGreaterThan(990)
    expect(event?.data?.errors?.[0]?.extensions).toEqual({ code: 'FORBIDDEN' })
    expect(event?.data?.data).toBeUndefined()
    // As for every other error of a stream, which is an event.
    expect(events.status).toBe(200)
    events.close()
    await patient.close()
  })

  it('is rejected with 406 by GET if the client does not accept events', async () => {
    const url = `/graphql?query=${encodeURIComponent('subscription { job(id: "x") { id } }')}`
    const response = await app.app.inject({ url, headers: { 'x-api-key': tenant.key, accept: 'application/json' } })
    expect(response.statusCode).toBe(406)
  })
})

describe('subscription { jobs }', () => {
  it('returns the newest matching jobs, then each changed job, and once more a job that stops matching', async () => {
    const [, second, third] = [await create('row'), await create('row'), await create('row')]
    const filter = { jobType: 'row', status: 'PENDING' }
    const events = await subscribe(address, tenant.key, jobsSubscription, { filter, first: 2 })
    expect(await nextJobs(events)).toEqual([third, second].map((id) => ({ id, status: 'PENDING' })))
    await create('elsewhere')
    const fourth = await create('row')
    expect(await nextJobs(events)).toEqual([{ id: fourth, status: 'PENDING' }])
    await call('cancelJob', { id: third })
    expect(await nextJobs(events)).toEqual([{ id: third, status: 'CANCELLED' }])
    await call('retryJob', { id: third })
    expect(await nextJobs(events)).toEqual([{ id: third, status: 'PENDING' }])
    events.close()
  })

  it('returns no job of another tenant', async () => {
    const other = await app.createTenant()
    const events = await subscribe(address, tenant.key, jobsSubscription, { filter: { jobType: 'private' } })
    expect(await nextJobs(events)).toEqual([])
    const theirs = await app.services.events.follow({ ...other, keyId: 'test' })
    const statements = await app.statementsOf(async () => {
      await jobClient(app, other)('createJob', { jobType: 'private' })
      await theirs.next()
      const id = await create('private')
      expect(await nextJobs(events)).toEqual([{ id, status: 'PENDING' }])
    })
    // The change of the other tenant caused no read.
    expect(statements.filter((sql) => /^SELECT .* FROM job/.test(sql))).toEqual([])
    theirs.return()
    events.close()
  })

  it('returns a job whose change was not announced', async () => {
    const id = await create('missed')
    const filter = { jobType: 'missed', status: 'PENDING' }
    const events = await subscribe(address, tenant.key, jobsSubscription, { filter })
    await nextJobs(events)
    await app.database.runAsOwner(
      "CREATE FUNCTION kept() RETURNS void LANGUAGE plpgsql AS 'BEGIN END'; ALTER FUNCTION announce_events RENAME TO announce; ALTER FUNCTION kept RENAME TO announce_events",
    )
    await call('cancelJob', { id })
    expect(await nextJobs(events)).toEqual([{ id, status: 'CANCELLED' }])
    await app.database.runAsOwner('DROP FUNCTION announce_events; ALTER FUNCTION announce RENAME TO announce_events')
    events.close()
  })

  it.each([[{ first: -1 }], [{ first: 501 }], [{ filter: { jobType: 'a\0' } }]])('rejects %j', async (variables) => {
    const events = await subscribe(address, tenant.key, jobsSubscription, variables)
    expect((await events.next())?.data?.errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
    events.close()
  })
})

describe.each(Object.entries(transports))('a subscription whose field is left out, over %s,', (_, send) => {
  const onVariable = 'Whether a subscription selects its field must not depend on a variable'
  const onNone = 'The subscription selects no field'
  const job = 'job(id: "job_1") { id }'
  it.each([
    ['subscription { job(id: "job_1") @skip(if: true) { id } }', onNone],
    ['subscription { ... @include(if: false) { job(id: "job_1") { id } } }', onNone],
    [
      `subscription { ...a @skip(if: true) ...b } fragment a on Subscription { ${job} } fragment b on Subscription { ...a @include(if: false) }`,
      onNone,
    ],
    ['subscription ($v: Boolean!) { job(id: "job_1") @skip(if: $v) { id } }', onVariable],
    ['subscription ($v: Boolean!) { job(id: "job_1") @include(if: $v) { id } }', onVariable],
    [
      `subscription ($v: Boolean! = true) { ...a } fragment a on Subscription { ... @include(if: $v) { ${job} } }`,
      onVariable,
    ],
  ])('is BAD_USER_INPUT that says so: %s', async (query, message) => {
    const subscription = await send(address, tenant.key, query, { v: true })
    await subscription.until(message)
    await subscription.until('BAD_USER_INPUT')
    expect(app.log.filter(({ level }) => level === 50)).toEqual([])
  })

  it('is not one if a literal leaves it in', async () => {
    const left =
      'subscription { ...a @include(if: true) } fragment a on Subscription { job(id: "job_1") @skip(if: false) { id } }'
    await (await send(address, tenant.key, left)).until('"job":null')
    const several =
      'subscription { ...a other: job(id: "job_2") { id } } fragment a on Subscription { job(id: "job_1") { id } }'
    await (await send(address, tenant.key, several)).until('must select only one top level field')
  })
})

describe('a subscriber that disconnects', () => {
  it('causes no more statements', async () => {
    const id = await create('left')
    const events = await subscribe(address, tenant.key, jobSubscription.replace('Follow', 'Leave'), { id })
    await nextJob(events)
    events.close()
    // The log line of a request is written when its connection is closed.
    while (!app.log.some(({ operation }) => operation === 'Leave')) await new Promise((then) => setImmediate(then))
    const statements = await app.statementsOf(() => call('cancelJob', { id }))
    expect(statements.filter((sql) => /^SELECT .* FROM job/.test(sql))).toEqual([])
  })
})
