import { once } from 'node:events'
import type { Scope } from '@fusion-gateway/base'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import type { JobContext } from '../../src/domain/job/worker/handler.ts'
import { startWorker } from '../../src/domain/job/worker/worker.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { jobClient, present } from '../support/jobs.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())
beforeEach(async () => {
  tenant = await app.createTenant()
})

const at = (second: number) => new Date(1_700_000_000_000 + second * 1_000)

/** Creates a job that is named after its state, with the time of its creation in seconds. */
function createJob(status: 'PENDING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED', second: number, given = {}) {
  const job = { id: `${status.toLowerCase()}_${second}`, status, createdAt: at(second), jobType: 'greet', ...given }
  return factoriesFor(app, tenant).job(job)
}

interface Payload {
  readonly cancelledCount?: number | null
  readonly retriedCount?: number | null
  readonly remainingCount?: number | null
  readonly userErrors: readonly { code: string; field: string[]; message: string }[]
}

const fields = {
  cancelJobs: 'cancelledCount remainingCount userErrors { code field message }',
  retryJobs: 'retriedCount remainingCount userErrors { code field message }',
}

const textOf = (name: keyof typeof fields, selected = fields[name]) =>
  `mutation ($input: ${name === 'cancelJobs' ? 'Cancel' : 'Retry'}JobsInput!) { ${name}(input: $input) { ${selected} } }`

async function call(name: keyof typeof fields, input: object, of = tenant): Promise<Payload> {
  const { data, errors } = await app.graphql<Record<string, Payload>>(of, textOf(name), { input })
  expect(errors).toBeUndefined()
  return present(data[name])
}

/** The ids of the tenant's jobs in a state, oldest first. */
async function jobsIn(status: 'PENDING' | 'RUNNING' | 'CANCELLED', of = tenant): Promise<string[]> {
  const where = { tenantAppId: of.tenantAppId, status }
  const rows = await app.database.prisma.job.findMany({ where, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
  return rows.map(({ id }) => id)
}

/** Inserts waiting jobs. */
async function createMany(count: number): Promise<void> {
  await app.database.prisma.$executeRawUnsafe(`
    INSERT INTO job (tenant_app_id, id, job_type, max_attempts, run_at, created_at, updated_at)
    SELECT '${tenant.tenantAppId}', 'job_' || number, 'many', 3, now(), to_timestamp(number), to_timestamp(number)
    FROM generate_series(1, ${count}) AS number`)
}

describe('cancelJobs', () => {
  beforeEach(async () => {
    await createJob('PENDING', 1)
    await createJob('RUNNING', 2)
    await createJob('PENDING', 3, { jobType: 'other' })
    await createJob('RUNNING', 4, { jobType: null })
    for (const [index, status] of (['SUCCEEDED', 'FAILED'] as const).entries()) await createJob(status, index)
  })

  it.each([
    [{}, ['pending_1', 'running_2', 'pending_3', 'running_4']],
    [{ status: 'RUNNING' }, ['running_2', 'running_4']],
    [{ jobType: 'greet' }, ['pending_1', 'running_2']],
    [{ createdBefore: at(3).toISOString() }, ['pending_1', 'running_2']],
    [{ createdAfter: at(1).toISOString(), createdBefore: at(4).toISOString() }, ['running_2', 'pending_3']],
    [{ status: 'PENDING', jobType: 'other', createdBefore: at(9).toISOString() }, ['pending_3']],
    [{ jobType: 'nobody' }, []],
  ])('cancels the jobs that match %j', async (filter, ids) => {
    expect(await call('cancelJobs', { filter })).toEqual({
      cancelledCount: ids.length,
      remainingCount: 0,
      userErrors: [],
    })
    expect(await jobsIn('CANCELLED')).toEqual(ids)
  })

  it('cancels the oldest jobs of all states first, and counts those that are left', async () => {
    expect(await call('cancelJobs', { filter: {}, limit: 2 })).toMatchObject({ cancelledCount: 2, remainingCount: 2 })
    expect(await jobsIn('CANCELLED')).toEqual(['pending_1', 'running_2'])
    expect(await call('cancelJobs', { filter: {}, limit: 3 })).toMatchObject({ cancelledCount: 2, remainingCount: 0 })
    expect(await call('cancelJobs', { filter: {} })).toMatchObject({ cancelledCount: 0, remainingCount: 0 })
  })

  it('writes what cancelJob writes', async () => {
    const one = present((await jobClient(app, tenant)('cancelJob', { id: 'running_2' })).job)
    await call('cancelJobs', { filter: { createdAfter: at(3).toISOString() } })
    const where = { tenantAppId: tenant.tenantAppId, id: 'running_4' }
    const row = present(await app.database.prisma.job.findFirst({ where }))
    expect(row).toMatchObject({ status: one.status, leaseToken: null, leaseExpiresAt: null })
    expect(row.finishedAt).toEqual(row.updatedAt)
    expect(row.finishedAt?.getTime()).toBeGreaterThanOrEqual(Date.parse(present(one.finishedAt)))
  })

  it('sends one statement, and another one if the number of jobs that are left is requested', async () => {
    for (const [selected, statements] of [
      ['cancelledCount', 1],
      ['cancelledCount remainingCount', 2],
    ] as const) {
      const sent = await app.statementsOf(() =>
        app.graphql(tenant, textOf('cancelJobs', selected), { input: { filter: { jobType: 'greet' }, limit: 1 } }),
      )
      expect(sent).toHaveLength(statements)
    }
    expect(await jobsIn('CANCELLED')).toEqual(['pending_1', 'running_2'])
  })

  it('makes the worker of each job abort it', async () => {
    const begun = Promise.withResolvers<void>()
    const signals: AbortSignal[] = []
    async function wait(_: object, { signal }: JobContext) {
      if (signals.push(signal) === 2) begun.resolve()
      await once(signal, 'abort')
    }
    // No poll and no lease tells the worker in time, so only the events can.
    const options = { log: app.app.log, concurrency: 2, leaseSeconds: 600, pollMilliseconds: 600_000 }
    const { jobs, events } = app.services
    const worker = startWorker({ ...options, jobs, events, handlers: new Map([['wait', wait]]) })
    for (const _job of [1, 2]) await jobClient(app, tenant)('createJob', { jobType: 'wait' })
    await begun.promise
    const aborted = Promise.all(signals.map((signal) => once(signal, 'abort')))
    const filter = { status: 'RUNNING', jobType: 'wait' }
    expect(await call('cancelJobs', { filter })).toMatchObject({ cancelledCount: 2 })
    await aborted
    expect(signals.map(({ reason }) => reason.message)).toEqual(['The job was cancelled', 'The job was cancelled'])
    await worker.stop(0)
  })
})

describe('retryJobs', () => {
  it('retries jobs with as many attempts as a number can have, which run and fail once more', async () => {
    const most = 2_147_483_647
    await createJob('FAILED', 1, { attempts: most })
    await createJob('CANCELLED', 2, { attempts: most - 1, maxAttempts: most })
    await createJob('FAILED', 3, { attempts: 1 })
    expect(await call('retryJobs', { filter: {} })).toMatchObject({ retriedCount: 3 })
    const job = jobClient(app, tenant)
    const { leases } = await job('claimJobs', { jobTypes: ['greet'], limit: 3 })
    expect(present(leases).map(({ job: { attempts } }) => attempts)).toEqual([most, most, 2])
    for (const { leaseToken, job: claimed } of present(leases).slice(0, 2)) {
      const failure = { id: claimed.id, leaseToken, code: 'NO', message: 'no' }
      expect(await job('failJob', failure)).toMatchObject({ job: { status: 'FAILED', attempts: most } })
    }
  })

  it('makes failed and cancelled jobs due, each with the attempts that it has left and at least one', async () => {
    await createJob('FAILED', 1, { attempts: 3, maxAttempts: 3, progress: 0.5, finishedAt: at(2) })
    await createJob('CANCELLED', 2, { attempts: 1, maxAttempts: 5 })
    await createJob('FAILED', 3)
    await createJob('SUCCEEDED', 4)
    await createJob('PENDING', 5, { jobType: 'waits' })
    expect(await call('retryJobs', { filter: {} })).toEqual({ retriedCount: 3, remainingCount: 0, userErrors: [] })
    const { leases } = await jobClient(app, tenant)('claimJobs', { jobTypes: ['greet'], limit: 10 })
    expect(leases?.map(({ job }) => job)).toMatchObject([
      { id: 'failed_1', attempts: 4, maxAttempts: 4, progress: null, finishedAt: null },
      { id: 'cancelled_2', attempts: 2, maxAttempts: 5 },
      { id: 'failed_3', attempts: 1, maxAttempts: 3 },
    ])
  })

  it('selects by state, and counts those that are left', async () => {
    for (const second of [1, 2, 3]) await createJob('FAILED', second)
    await createJob('CANCELLED', 0)
    const input = { filter: { status: 'FAILED' }, limit: 2 }
    expect(await call('retryJobs', input)).toMatchObject({ retriedCount: 2, remainingCount: 1 })
    expect(await jobsIn('PENDING')).toEqual(['failed_1', 'failed_2'])
  })

  it('leaves out jobs whose type no worker can name, as retryJob does, and does not count them', async () => {
    const types = [null, '', 'two words', 'ä', 'aé', '1a', 'a\n', 'x'.repeat(65)]
    for (const [second, jobType] of types.entries()) await createJob('FAILED', second, { jobType })
    await createJob('FAILED', 100, { jobType: `A0_.-${'x'.repeat(59)}` })
    for (const second of types.keys()) {
      const { userErrors } = await jobClient(app, tenant)('retryJob', { id: `failed_${second}` })
      expect(userErrors).toMatchObject([{ code: 'CONFLICT' }])
    }
    expect(await call('retryJobs', { filter: {} })).toMatchObject({ retriedCount: 1, remainingCount: 0 })
    expect(await jobsIn('PENDING')).toEqual(['failed_100'])
  })
})

describe('a bulk action', () => {
  it('changes at most 1,000 jobs, each with an event of the key', async () => {
    await createMany(1_001)
    const where = { tenantAppId: tenant.tenantAppId }
    const eventsOf = async (type: string) => {
      await settleEvents(app)
      return app.database.prisma.event.findMany({ where: { ...where, type, keyId: tenant.keyId } })
    }
    expect(await call('cancelJobs', { filter: {} })).toMatchObject({ cancelledCount: 1_000, remainingCount: 1 })
    expect(await jobsIn('PENDING')).toEqual(['job_1001'])
    expect(await call('cancelJobs', { filter: {} })).toMatchObject({ cancelledCount: 1, remainingCount: 0 })
    const cancelled = await eventsOf('JOB_CANCELLED')
    expect(new Set(cancelled.map(({ resourceId }) => resourceId)).size).toBe(1_001)
    expect(new Set(cancelled.map(({ requestId }) => requestId)).size).toBe(2)
    expect(await call('retryJobs', { filter: {} })).toMatchObject({ retriedCount: 1_000, remainingCount: 1 })
    expect(await eventsOf('JOB_RETRIED')).toHaveLength(1_000)
  })

  it.each([
    ['cancelJobs', { filter: { status: 'SUCCEEDED' } }, 'filter.status', 'OUT_OF_RANGE', 'PENDING or RUNNING'],
    ['cancelJobs', { filter: { status: 'FAILED' } }, 'filter.status', 'OUT_OF_RANGE', 'PENDING or RUNNING'],
    ['retryJobs', { filter: { status: 'RUNNING' } }, 'filter.status', 'OUT_OF_RANGE', 'FAILED or CANCELLED'],
    ['retryJobs', { filter: { status: 'SUCCEEDED' } }, 'filter.status', 'OUT_OF_RANGE', 'FAILED or CANCELLED'],
    [
      'cancelJobs',
      { filter: { statuses: ['PENDING', 'FAILED'] } },
      'filter.statuses',
      'OUT_OF_RANGE',
      'PENDING or RUNNING',
    ],
    ['cancelJobs', { filter: {}, limit: 0 }, 'limit', 'OUT_OF_RANGE', 'from 1 to 1000'],
    ['retryJobs', { filter: {}, limit: 1_001 }, 'limit', 'OUT_OF_RANGE', 'from 1 to 1000'],
    ['cancelJobs', { filter: { jobType: 'a\0b' } }, 'filter.jobType', 'INVALID_FORMAT', 'NUL'],
    ['retryJobs', { filter: { jobType: 'x'.repeat(501) } }, 'filter.jobType', 'TOO_LONG', '500'],
  ] as const)('rejects %s with %j without a statement', async (name, input, field, code, message) => {
    const sent = await app.statementsOf(async () => {
      const payload = await call(name, input)
      expect(payload).toMatchObject({
        remainingCount: null,
        userErrors: [{ code, field: field.split('.'), message: expect.stringContaining(message) }],
      })
      expect(name === 'cancelJobs' ? payload.cancelledCount : payload.retriedCount).toBeNull()
    })
    expect(sent).toEqual([])
  })

  it.each(['cancelJobs(input: {})', 'retryJobs(input: { filter: null })'])('needs a filter: %s', async (field) => {
    const { data, errors } = await app.graphql(tenant, `mutation { ${field} { remainingCount } }`)
    expect(data).toBeUndefined()
    expect(errors).toMatchObject([{ message: expect.stringContaining('JobFilter!') }])
  })

  it.each([
    [{ ids: ['a', 'b'] }, ['a', 'b']],
    [{ statuses: ['RUNNING'] }, ['c']],
    [{ statuses: ['RUNNING'], status: 'PENDING' }, []],
    [{ jobTypes: ['y', 'z'] }, ['b', 'c']],
    [{ or: [{ ids: ['a'] }, { jobType: 'z' }] }, ['a', 'c']],
    [{ not: { ids: ['a'] } }, ['b', 'c']],
    [{ and: [{ jobTypes: ['x', 'y'] }, { not: { jobType: 'x' } }] }, ['b']],
    [{ or: [] }, []],
  ])('cancels the jobs that a filter with logic selects: %j', async (filter, ids) => {
    const other = await app.createTenant()
    const make = factoriesFor(app, other)
    await make.job({ id: 'a', jobType: 'x', status: 'PENDING' })
    await make.job({ id: 'b', jobType: 'y', status: 'PENDING' })
    await make.job({ id: 'c', jobType: 'z', status: 'RUNNING' })
    const { data } = await app.graphql(
      other,
      `query ($filter: JobFilter) { jobs(filter: $filter) { totalCount nodes { id } } }`,
      { filter },
    )
    expect(data['jobs']).toEqual({ totalCount: ids.length, nodes: ids.map((id) => ({ id })) })
    const mutation =
      'mutation ($filter: JobFilter!) { cancelJobs(input: { filter: $filter }) { cancelledCount userErrors { message } } }'
    const cancelled = await app.graphql(other, mutation, { filter })
    expect(cancelled.data['cancelJobs']).toEqual({ cancelledCount: ids.length, userErrors: [] })
    const where = { tenantAppId: other.tenantAppId, status: 'CANCELLED' } as const
    const rows = await app.database.prisma.job.findMany({ where, orderBy: { id: 'asc' } })
    expect(rows.map(({ id }) => id)).toEqual(ids)
  })

  it('changes and counts only jobs of the tenant', async () => {
    const other = await app.createTenant()
    for (const owner of [tenant, other]) {
      for (const id of ['a', 'b']) await factoriesFor(app, owner).job({ id, status: 'PENDING' })
      for (const id of ['c', 'd']) await factoriesFor(app, owner).job({ id, status: 'CANCELLED' })
    }
    expect(await call('cancelJobs', { filter: {}, limit: 1 })).toMatchObject({ cancelledCount: 1, remainingCount: 1 })
    expect(await jobsIn('PENDING', other)).toEqual(['a', 'b'])
    expect(await call('retryJobs', { filter: {}, limit: 1 })).toMatchObject({ retriedCount: 1, remainingCount: 2 })
    expect(await jobsIn('CANCELLED', other)).toEqual(['c', 'd'])
  })

  it('needs the scope jobs:write, and jobs:read for the number of jobs that are left', async () => {
    const keyWith = async (...scopes: Scope[]) => {
      const { key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'k', scopes })
      return { ...tenant, key }
    }
    await createJob('PENDING', 1)
    for (const name of ['cancelJobs', 'retryJobs'] as const) {
      const { errors } = await app.graphql(await keyWith('jobs:read', 'jobs:work'), textOf(name), {
        input: { filter: {} },
      })
      expect(errors).toMatchObject([{ path: [name], extensions: { code: 'FORBIDDEN' } }])
    }
    expect(await jobsIn('PENDING')).toEqual(['pending_1'])
    const writer = await keyWith('jobs:write')
    const { data, errors } = await app.graphql(writer, textOf('cancelJobs'), { input: { filter: {} } })
    expect(data).toEqual({ cancelJobs: { cancelledCount: 1, remainingCount: null, userErrors: [] } })
    expect(errors).toMatchObject([{ path: ['cancelJobs', 'remainingCount'], extensions: { code: 'FORBIDDEN' } }])
  })

  it('runs once with an idempotency key', async () => {
    for (const second of [1, 2, 3]) await createJob('PENDING', second)
    const send = () =>
      app.app.inject({
        method: 'POST',
        url: '/graphql',
        headers: { 'x-api-key': tenant.key, 'idempotency-key': 'bulk' },
        payload: { query: textOf('cancelJobs'), variables: { input: { filter: {}, limit: 1 } } },
      })
    const [first, second] = [await send(), await send()]
    expect(first.json().data).toEqual({ cancelJobs: { cancelledCount: 1, remainingCount: 2, userErrors: [] } })
    expect(second.json().data).toEqual(first.json().data)
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(await jobsIn('CANCELLED')).toEqual(['pending_1'])
  })
})
