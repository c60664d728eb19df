import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { jobClient, present } from '../support/jobs.ts'

let app: TestApp
let tenant: TestTenant
let call: ReturnType<typeof jobClient>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  call = jobClient(app, tenant)
})
afterAll(() => app.close())

async function create(input: Record<string, unknown> = {}) {
  return present((await call('createJob', { jobType: 'greet', ...input })).job)
}

describe('createJob', () => {
  it('inserts the row with one statement', async () => {
    await create()
    const statements = await app.statementsOf(async () => {
      const job = await create({ payload: { to: 'you' } })
      expect(job).toMatchObject({ status: 'PENDING', attempts: 0, maxAttempts: 3, startedAt: null, finishedAt: null })
    })
    expect(statements).toHaveLength(1)
  })

  it('returns the first job for its idempotency key, and rejects another job with the key as CONFLICT', async () => {
    const input = { jobType: 'greet', payload: { b: 1, a: [2] }, idempotencyKey: 'k1' }
    const first = present((await call('createJob', input)).job)
    expect((await call('createJob', input)).job).toEqual(first)
    const conflict = [{ code: 'CONFLICT', field: ['idempotencyKey'] }]
    expect((await call('createJob', { ...input, payload: { b: 1 } })).userErrors).toMatchObject(conflict)
    expect((await call('createJob', { ...input, jobType: 'other' })).userErrors).toMatchObject(conflict)
  })

  it('shows the result of the first job only to a key that may read jobs', async () => {
    const input = { jobType: 'greet', idempotencyKey: 'seen' }
    const { id } = present((await call('createJob', input)).job)
    await app.database.prisma.job.updateMany({ where: { id }, data: { result: { secret: 1 }, status: 'SUCCEEDED' } })
    const { tenantAppId } = tenant
    const { key } = await createKey(app.database, { tenantAppId, name: 'writer', scopes: ['jobs:write'] })
    const query = `mutation { createJob(input: { jobType: "greet", idempotencyKey: "seen" }) { job { id status result } } }`
    expect((await app.graphql(tenant, query)).data).toEqual({
      createJob: { job: { id, status: 'SUCCEEDED', result: { secret: 1 } } },
    })
    expect((await app.graphql({ ...tenant, key }, query)).data).toEqual({
      createJob: { job: { id, status: 'SUCCEEDED', result: null } },
    })
  })

  it('recognises the same payload if it is a literal of the document', async () => {
    const query = `mutation { createJob(input: { jobType: "x", payload: { a: { b: -0 } }, idempotencyKey: "literal" }) {
      job { id } userErrors { code } } }`
    const first = await app.graphql(tenant, query)
    expect(first.data).toMatchObject({ createJob: { userErrors: [] } })
    expect(await app.graphql(tenant, query)).toEqual(first)
  })

  it('creates one job for ten concurrent calls with one key', async () => {
    const input = { jobType: 'greet', idempotencyKey: 'k10' }
    const responses = await Promise.all(Array.from({ length: 10 }, () => call('createJob', input)))
    expect(new Set(responses.map(({ job }) => job?.id)).size).toBe(1)
    expect(await app.database.prisma.job.count({ where: { idempotencyKey: 'k10' } })).toBe(1)
  })

  it.each([
    [{ jobType: '' }, 'jobType', 'REQUIRED'],
    [{ jobType: 'two words' }, 'jobType', 'INVALID_FORMAT'],
    [{ jobType: 'x'.repeat(65) }, 'jobType', 'TOO_LONG'],
    [{ maxAttempts: 0 }, 'maxAttempts', 'OUT_OF_RANGE'],
    [{ maxAttempts: 101 }, 'maxAttempts', 'OUT_OF_RANGE'],
    [{ idempotencyKey: ' ' }, 'idempotencyKey', 'REQUIRED'],
    [{ idempotencyKey: 'a\0b' }, 'idempotencyKey', 'INVALID_FORMAT'],
    [{ payload: JSON.parse('{"a":[{"__proto__":1}]}') }, 'payload', 'INVALID_FORMAT'],
  ])('rejects %j without a statement', async (input, field, code) => {
    const statements = await app.statementsOf(async () => {
      const { job, userErrors } = await call('createJob', { jobType: 'greet', ...input })
      expect([job, userErrors]).toMatchObject([null, [{ code, field: [field] }]])
    })
    expect(statements).toEqual([])
  })

  it.each([
    ['{ color: RED }', 'JSON has no value RED'],
    ['{ list: [{ size: 1.5e400 }] }', 'The number 1.5e400 is too large'],
  ])('rejects the payload %s, which JSON cannot represent', async (payload, message) => {
    const query = `mutation { createJob(input: { jobType: "greet", payload: ${payload} }) { job { id } } }`
    for (const _run of ['interpreted', 'compiled']) {
      const { data, errors } = await app.graphql(tenant, query)
      expect(data).toBeUndefined()
      expect(errors).toMatchObject([
        { extensions: { code: 'BAD_USER_INPUT' }, message: expect.stringContaining(message) },
      ])
    }
  })

  it('does not start a job before runAt', async () => {
    const runAt = new Date(Date.now() + 3_600_000).toISOString()
    expect(await create({ jobType: 'later', runAt })).toMatchObject({ runAt })
    expect((await call('claimJobs', { jobTypes: ['later'] })).leases).toEqual([])
  })

  it('treats a runAt in the past as now', async () => {
    const job = await create({ jobType: 'overdue', runAt: '2001-01-01T00:00:00Z' })
    expect(Date.parse(present(job.runAt))).toBeGreaterThan(Date.now() - 60_000)
    expect((await call('claimJobs', { jobTypes: ['overdue'] })).leases).toHaveLength(1)
  })

  it('keeps the documented keys in REST', async () => {
    const { id } = await create({ payload: { to: 'you' } })
    const response = await app.rest(tenant, 'GET', `/fusion/jobs/${id}`)
    expect(Object.keys(response.json())).toEqual([
      'id',
      'status',
      'job_type',
      'payload',
      'attempts',
      'created_at',
      'updated_at',
    ])
  })
})

describe('cancelJob and retryJob', () => {
  it('a cancelled job is not claimed until it is retried', async () => {
    const { id } = await create({ jobType: 'cancelled' })
    expect((await call('cancelJob', { id })).job).toMatchObject({ status: 'CANCELLED' })
    expect((await call('claimJobs', { jobTypes: ['cancelled'] })).leases).toEqual([])
    expect((await call('retryJob', { id })).job).toMatchObject({ status: 'PENDING', finishedAt: null, maxAttempts: 3 })
    expect((await call('claimJobs', { jobTypes: ['cancelled'] })).leases).toMatchObject([{ job: { id, attempts: 1 } }])
  })

  it('a job without attempts left gets one more', async () => {
    const { id } = await create({ jobType: 'failed', maxAttempts: 1 })
    const [lease] = present((await call('claimJobs', { jobTypes: ['failed'] })).leases)
    const failure = { id, leaseToken: present(lease).leaseToken, code: 'NO', message: 'no' }
    expect((await call('failJob', failure)).job).toMatchObject({ status: 'FAILED', error: { code: 'NO', attempt: 1 } })
    expect((await call('retryJob', { id })).job).toMatchObject({ status: 'PENDING', attempts: 1, maxAttempts: 2 })
    expect((await call('claimJobs', { jobTypes: ['failed'] })).leases).toMatchObject([{ job: { id, attempts: 2 } }])
  })

  it('an imported job can be cancelled and then run', async () => {
    const { id } = await factoriesFor(app, tenant).job({ jobType: 'imported', status: 'RUNNING' })
    expect((await call('claimJobs', { jobTypes: ['imported'] })).leases).toEqual([])
    expect((await call('cancelJob', { id })).job?.status).toBe('CANCELLED')
    expect((await call('retryJob', { id })).job?.status).toBe('PENDING')
    expect((await call('claimJobs', { jobTypes: ['imported'] })).leases).toMatchObject([{ job: { id } }])
  })

  it('a job without a type cannot be retried', async () => {
    const { id } = await factoriesFor(app, tenant).job({ jobType: null, status: 'FAILED' })
    expect((await call('retryJob', { id })).userErrors).toMatchObject([{ code: 'CONFLICT', field: ['id'] }])
  })

  it('need the scope jobs:write', async () => {
    const { createKey } = await import('../../src/domain/credential/key.service.ts')
    const { key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'r', scopes: ['jobs:read'] })
    for (const mutation of [
      'createJob(input: { jobType: "x" })',
      'cancelJob(input: { id: "x" })',
      'retryJob(input: { id: "x" })',
    ]) {
      const { errors } = await app.graphql({ ...tenant, key }, `mutation { ${mutation} { job { id } } }`)
      expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
    }
  })
})
