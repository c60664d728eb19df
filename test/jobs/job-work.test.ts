import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { leaseLost } from '../../src/server/start-work.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { type JobResponse, jobClient, present } from '../support/jobs.ts'

let app: TestApp
let tenant: TestTenant
let address: string
let call: ReturnType<typeof jobClient>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  call = jobClient(app, tenant)
})
afterAll(() => app.close())

/** A worker outside of the gateway, with nothing but HTTP and its key. */
function createHttpWorker(key: string) {
  return async (mutation: string): Promise<JobResponse> => {
    const response = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ query: `mutation { response: ${mutation} }` }),
    })
    const { data, errors } = (await response.json()) as { data: { response: JobResponse }; errors?: unknown }
    if (errors) throw new Error(JSON.stringify(errors))
    return data.response
  }
}

describe('a worker that uses the API over HTTP', () => {
  it('claims, extends, reports and completes a job; a stale lease token is rejected and changes nothing', async () => {
    const { key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'w', scopes: ['jobs:work'] })
    const send = createHttpWorker(key)
    const { id } = present((await call('createJob', { jobType: 'resize', payload: { width: 10 } })).job)

    const claim = `claimJobs(input: { jobTypes: ["resize"], leaseSeconds: 30 }) {
      leases { leaseToken expiresAt job { id payload attempts status } } userErrors { code } }`
    const [lease] = present((await send(claim)).leases)
    const { leaseToken, expiresAt, job } = present(lease)
    expect(job).toEqual({ id, payload: { width: 10 }, attempts: 1, status: 'RUNNING' })
    expect((await send(claim)).leases).toEqual([])

    const held = `id: "${id}", leaseToken: "${leaseToken}"`
    const extended = await send(
      `extendJobLease(input: { ${held}, leaseSeconds: 600 }) { lease { leaseToken expiresAt } userErrors { code } }`,
    )
    expect(extended.lease?.leaseToken).toBe(leaseToken)
    expect(Date.parse(present(extended.lease).expiresAt)).toBeGreaterThan(Date.parse(expiresAt) + 500_000)

    const progress = `reportJobProgress(input: { ${held}, progress: 0.25, message: "a quarter" }) {
      job { progress progressMessage } userErrors { code } }`
    expect((await send(progress)).job).toEqual({ progress: 0.25, progressMessage: 'a quarter' })

    const complete = (
      token: string,
    ) => `completeJob(input: { id: "${id}", leaseToken: "${token}", result: { ok: true } }) {
      job { status result finishedAt } userErrors { code field } }`
    const stale = '00000000-0000-4000-8000-000000000000'
    const conflict = { job: null, userErrors: [{ code: 'CONFLICT', field: ['leaseToken'] }] }
    expect(await send(complete(stale))).toEqual(conflict)
    expect(await send(complete("x' OR true --"))).toEqual(conflict)
    const done = await send(complete(leaseToken))
    expect(done.job).toMatchObject({ status: 'SUCCEEDED', result: { ok: true }, finishedAt: expect.any(String) })
    expect(await send(complete(leaseToken))).toEqual({ job: null, userErrors: [{ code: 'CONFLICT', field: ['id'] }] })
  })

  it('needs the scope jobs:work; jobs:write is not enough', async () => {
    const { key } = await createKey(app.database, {
      tenantAppId: tenant.tenantAppId,
      name: 'x',
      scopes: ['jobs:write'],
    })
    const query = 'mutation { claimJobs(input: { jobTypes: ["resize"] }) { leases { leaseToken } } }'
    expect((await app.graphql({ ...tenant, key }, query)).errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
  })
})

async function claimOne(jobType: string, input = {}) {
  const { id } = present((await call('createJob', { jobType, ...input })).job)
  const [lease] = present((await call('claimJobs', { jobTypes: [jobType] })).leases)
  return { id, leaseToken: present(lease).leaseToken }
}

describe('a lease', () => {
  it.each(['extendJobLease', 'reportJobProgress', 'completeJob', 'failJob'])(
    'is rejected by %s if another worker holds the job, which does not change',
    async (mutation) => {
      const jobType = `lost_${mutation}`
      const { id, leaseToken } = await claimOne(jobType)
      const failure = { id, leaseToken, code: 'X', message: 'x' }
      await call('failJob', failure)
      await app.database.prisma.$executeRaw`UPDATE job SET run_at = now() WHERE id = ${id}`
      const [second] = present((await call('claimJobs', { jobTypes: [jobType] })).leases)
      const before = await app.database.prisma.job.findFirstOrThrow({ where: { id } })
      const otherFields: Record<string, object> = { reportJobProgress: { progress: 1 }, failJob: failure }
      const { userErrors } = await call(mutation, { id, leaseToken, ...otherFields[mutation] })
      expect(userErrors).toMatchObject([{ code: 'CONFLICT', field: ['leaseToken'] }])
      expect(await app.database.prisma.job.findFirstOrThrow({ where: { id } })).toEqual(before)
      expect((await call('completeJob', { id, leaseToken: present(second).leaseToken })).job?.status).toBe('SUCCEEDED')
    },
  )

  it.each(['extendJobLease', 'reportJobProgress', 'completeJob', 'failJob'])(
    'of an impossible id gets NOT_FOUND from %s',
    async (mutation) => {
      const otherFields: Record<string, object> = {
        reportJobProgress: { progress: 1 },
        failJob: { code: 'X', message: 'x' },
      }
      const held = { id: 'x\0y', leaseToken: '00000000-0000-4000-8000-000000000000' }
      expect((await call(mutation, { ...held, ...otherFields[mutation] })).userErrors).toMatchObject([
        { code: 'NOT_FOUND' },
      ])
    },
  )

  it('that is extended after its expiry stays valid', async () => {
    const { id, leaseToken } = await claimOne('extended_in_time')
    await app.database.prisma.$executeRaw`UPDATE job SET lease_expires_at = now() - interval '1 s' WHERE id = ${id}`
    await call('extendJobLease', { id, leaseToken })
    expect(await app.services.jobs.failExpired(leaseLost)).toBe(0)
    expect((await call('completeJob', { id, leaseToken })).job?.status).toBe('SUCCEEDED')
  })

  it('of a cancelled job reports the state of the job', async () => {
    const { id, leaseToken } = await claimOne('cancelled')
    await call('cancelJob', { id })
    expect((await call('extendJobLease', { id, leaseToken })).userErrors).toMatchObject([
      { code: 'CONFLICT', field: ['id'], message: expect.stringContaining('CANCELLED') },
    ])
  })
})

describe('a failed job', () => {
  it('waits for its next attempt until no attempt is left', async () => {
    const { id, leaseToken } = await claimOne('fails', { maxAttempts: 2 })
    const failed = await call('failJob', { id, leaseToken, code: 'BUSY', message: 'try later' })
    expect(failed.job).toMatchObject({ status: 'PENDING', error: { code: 'BUSY', message: 'try later', attempt: 1 } })
    expect(Date.parse(present(failed.job?.runAt))).toBeGreaterThan(Date.now() - 1_000)
    await app.database.prisma.$executeRaw`UPDATE job SET run_at = now() WHERE id = ${id}`
    const [lease] = present((await call('claimJobs', { jobTypes: ['fails'] })).leases)
    const { leaseToken: second } = present(lease)
    const lastFailure = await call('failJob', { id, leaseToken: second, code: 'BUSY', message: 'no' })
    expect(lastFailure.job).toMatchObject({ status: 'FAILED', attempts: 2, error: { attempt: 2 } })
  })
})

describe('invalid input', () => {
  it.each([
    ['claimJobs', { jobTypes: [] }, 'jobTypes', 'REQUIRED'],
    ['claimJobs', { jobTypes: ['a b'] }, 'jobTypes', 'INVALID_FORMAT'],
    ['claimJobs', { jobTypes: Array.from({ length: 51 }, (_, index) => `t${index}`) }, 'jobTypes', 'TOO_LONG'],
    ['claimJobs', { jobTypes: ['a'], limit: 101 }, 'limit', 'OUT_OF_RANGE'],
    ['claimJobs', { jobTypes: ['a'], leaseSeconds: 0 }, 'leaseSeconds', 'OUT_OF_RANGE'],
    ['reportJobProgress', { id: 'x', leaseToken: 'x', progress: 1.1 }, 'progress', 'OUT_OF_RANGE'],
    ['failJob', { id: 'x', leaseToken: 'x', code: '', message: 'x' }, 'code', 'REQUIRED'],
    ['failJob', { id: 'x', leaseToken: 'x', code: 'X', message: 'x'.repeat(2_001) }, 'message', 'TOO_LONG'],
  ])('is rejected without a statement: %s %j', async (mutation, input, field, code) => {
    const statements = await app.statementsOf(async () => {
      expect((await call(mutation, input)).userErrors).toMatchObject([{ code, field: [field] }])
    })
    expect(statements).toEqual([])
  })
})

describe('claimJobs', () => {
  it('sends one statement for any number of jobs', async () => {
    for (let index = 0; index < 30; index += 1) await call('createJob', { jobType: 'many' })
    const claim = (limit: number) =>
      app.statementsOf(async () => {
        expect((await call('claimJobs', { jobTypes: ['many'], limit })).leases).toHaveLength(limit)
      })
    expect(await claim(1)).toHaveLength(1)
    expect(await claim(20)).toHaveLength(1)
  })
})
