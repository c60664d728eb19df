import { createMetrics } from '@fusion-gateway/telemetry'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { countJobs, measureJobs } from '../../src/domain/job/store/job-counts.ts'
import { leaseLost } from '../../src/server/start-work.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { jobClient, present } from '../support/jobs.ts'

let app: TestApp
let tenants: TestTenant[]

beforeAll(async () => {
  app = await startTestApp()
  tenants = await Promise.all(['one', 'two', 'three'].map((name) => app.createTenant(name)))
})
afterAll(() => app.close())

/** The value of a series of /metrics; undefined if it is missing. */
async function read(series: string): Promise<number | undefined> {
  const { body } = await app.app.inject('/metrics')
  const line = body.split('\n').find((text) => text.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

it('the metrics have the number of jobs of all tenants by state, and the time that the oldest due job waits', async () => {
  const { database, services } = app
  for (const tenant of tenants) {
    const call = jobClient(app, tenant)
    const create = async (jobType: string, runAt?: string) =>
      present((await call('createJob', { jobType, payload: {}, ...(runAt && { runAt }) })).job).id
    await create('later', '2100-01-01T00:00:00Z')
    await create('waiting')
    await call('cancelJob', { id: await create('cancelled') })
    await create('run')
    await call('claimJobs', { jobTypes: ['run'], limit: 1 })
  }
  const due = { tenantAppId: tenants[1]?.tenantAppId ?? '', jobType: 'waiting' }
  await database.prisma.job.updateMany({ where: due, data: { runAt: new Date(Date.now() - 3_600_000) } })
  measureJobs(services.metrics, () => countJobs(database))

  expect(await read('fusion_jobs_oldest_due_seconds')).toBeUndefined()
  await expect.poll(() => read('fusion_jobs{state="PENDING"}'), { timeout: 10_000 }).toBe(6)
  expect(await read('fusion_jobs{state="RUNNING"}')).toBe(3)
  expect(await read('fusion_jobs{state="SUCCEEDED"}')).toBe(0)
  expect(await read('fusion_jobs{state="CANCELLED"}')).toBe(3)
  expect(await read('fusion_jobs_oldest_due_seconds')).toBeGreaterThanOrEqual(3_600)
  // The numbers are read again after ten seconds at the earliest.
  expect(await app.statementsOf(() => read('fusion_jobs{state="PENDING"}'))).toEqual([])
})

it('the metrics keep the last numbers of jobs while the database fails, and say how old they are', async () => {
  const metrics = createMetrics()
  const readValue = async (name: string) => {
    const line = (await metrics.registry.metrics()).split('\n').find((text) => text.startsWith(`${name} `))
    return line === undefined ? undefined : Number(line.split(' ').at(-1))
  }
  let fails = 0
  let isDown = false
  const count = async () => {
    if (!isDown) return { states: [['PENDING', 6]] as [string, number][], oldestDueSeconds: 400 }
    fails += 1
    throw new Error('The database hangs')
  }
  const now = performance.now.bind(performance)
  let passed = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed)
  onTestFinished(() => clock.mockRestore())
  measureJobs(metrics, count)
  expect(await readValue('fusion_jobs_oldest_due_seconds')).toBeUndefined()
  expect(await readValue('fusion_jobs_oldest_due_seconds')).toBe(400)
  isDown = true
  for (const seconds of [60, 120]) {
    passed = seconds * 1_000
    expect(await readValue('fusion_numbers_age_seconds{numbers="jobs"}')).toBeGreaterThanOrEqual(seconds)
    expect(await readValue('fusion_jobs_oldest_due_seconds')).toBe(400)
    expect(await readValue('fusion_jobs{state="PENDING"}')).toBe(6)
  }
  expect(fails).toBe(2)
  isDown = false
  passed = 180_000
  await readValue('fusion_jobs')
  expect(await readValue('fusion_numbers_age_seconds{numbers="jobs"}')).toBeLessThan(10)
})

it('the metrics count attempts of jobs by outcome, also those of workers over HTTP', async () => {
  const call = jobClient(app, await app.createTenant())
  const attempt = async () => {
    const { leases } = await call('claimJobs', { jobTypes: ['measured'], limit: 1 })
    const { job, leaseToken } = present(leases?.[0])
    return { id: job.id, leaseToken }
  }
  const failure = { code: 'BROKEN', message: 'broken' }
  for (let number = 0; number < 4; number += 1) await call('createJob', { jobType: 'measured', payload: {} })
  await call('completeJob', { ...(await attempt()), result: {} })
  await call('failJob', { ...(await attempt()), ...failure, retryable: false })
  await call('failJob', { ...(await attempt()), ...failure })
  const lost = await attempt()
  // A token that is not valid ends no attempt.
  await call('completeJob', { ...lost, leaseToken: '00000000-0000-0000-0000-000000000000' })
  await app.database.prisma.job.updateMany({ where: { id: lost.id }, data: { leaseExpiresAt: new Date(0) } })
  expect(await app.services.jobs.failExpired(leaseLost)).toBe(1)
  for (const outcome of ['succeeded', 'failed', 'retried', 'lease_lost']) {
    expect(await read(`fusion_job_attempts_total{outcome="${outcome}"}`), outcome).toBe(1)
  }
})
