import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { countJobs } from '../../src/domain/job/store/job-counts.ts'
import type { JobHandler } from '../../src/domain/job/worker/handler.ts'
import { startWorker, type Worker } from '../../src/domain/job/worker/worker.ts'
import { resumeTenant, suspendTenant } from '../../src/domain/tenant/suspend-tenant.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { follow } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { jobClient, present } from '../support/jobs.ts'

let app: TestApp
let tenant: TestTenant
let other: TestTenant
const workers: Worker[] = []
const warnings: object[] = []

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  other = await app.createTenant()
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop(0)))
})
afterAll(() => app.close())

const suspend = () => suspendTenant(app.database, { id: tenant.tenantAppId })

async function resume(): Promise<void> {
  const where = { id: tenant.tenantAppId }
  await resumeTenant(app.database, await app.database.prisma.tenantApp.findUniqueOrThrow({ where }))
}

function work(handlers: Record<string, JobHandler>): void {
  const log = { error: (details: object) => warnings.push(details), warn: (details: object) => warnings.push(details) }
  const { jobs, events } = app.services
  const options = { jobs, events, handlers: new Map(Object.entries(handlers)), log, concurrency: 4, leaseSeconds: 60 }
  workers.push(startWorker({ ...options, pollMilliseconds: 200 }))
}

async function create(holder: TestTenant, jobType: string): Promise<string> {
  return present((await jobClient(app, holder)('createJob', { jobType, maxAttempts: 1 })).job).id
}

const read = (id: string) => app.database.prisma.job.findFirstOrThrow({ where: { id } })

describe('a suspended tenant', () => {
  it('has no job started until it is resumed, and other tenants have', async () => {
    const [held, free] = [await create(tenant, 'greet'), await create(other, 'greet')]
    await suspend()
    const { jobs } = app.services
    const request = { lastServed: new Map(), jobTypes: ['greet'], limit: 10, leaseSeconds: 60 }
    const claim = async () => (await jobs.claimOfAllTenants(request)).map(({ id }) => id)
    expect(await claim()).toEqual([free])
    expect(await claim()).toEqual([])
    await resume()
    expect(await claim()).toEqual([held])
  })

  it('has its running jobs stopped: the attempt does not count, and the job runs again after it is resumed', async () => {
    const reasons: unknown[] = []
    const begun = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    let isResumed = false
    work({
      async long(_, { signal, attempt }) {
        if (isResumed) return { attempt }
        begun.resolve()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reasons.push(signal.reason.message)
        aborted.resolve()
        throw signal.reason
      },
    })
    const id = await create(tenant, 'long')
    await begun.promise
    await suspend()
    await aborted.promise
    expect(reasons).toEqual(['The tenant was suspended'])
    expect(await read(id)).toMatchObject({
      status: 'PENDING',
      attempts: 0,
      error: null,
      startedAt: null,
      leaseToken: null,
    })
    isResumed = true
    await resume()
    // The only attempt that the job has.
    expect(await follow(app, tenant, id, ({ status }) => status === 'SUCCEEDED')).toMatchObject({
      attempts: 1,
      result: { attempt: 1 },
    })
    expect(warnings).toEqual([])
  })

  it('takes the leases of workers in other languages, which are stale when it is resumed', async () => {
    const call = jobClient(app, tenant)
    const id = await create(tenant, 'remote')
    const { leases } = await call('claimJobs', { jobTypes: ['remote'], limit: 1, leaseSeconds: 60 })
    const { leaseToken } = present(leases?.[0])
    await suspend()
    await resume()
    expect((await call('completeJob', { id, leaseToken, result: {} })).userErrors).toMatchObject([{ code: 'CONFLICT' }])
    const again = await call('claimJobs', { jobTypes: ['remote'], limit: 1, leaseSeconds: 60 })
    expect(again.leases).toMatchObject([{ job: { id, attempts: 1 } }])
  })

  it('has jobs stopped that a worker has started before it noticed, when it is suspended again', async () => {
    const id = await create(tenant, 'late')
    await suspend()
    const started = { status: 'RUNNING', attempts: 1, leaseToken: 'token', leaseExpiresAt: new Date(4e12) } as const
    await app.database.prisma.job.updateMany({ where: { id }, data: started })
    await suspend()
    expect(await read(id)).toMatchObject({ status: 'PENDING', attempts: 0, leaseToken: null, leaseExpiresAt: null })
    await resume()
  })

  it('keeps imported jobs that run elsewhere, and jobs that have ended', async () => {
    const make = factoriesFor(app, tenant)
    const imported = await make.job({ status: 'RUNNING', attempts: 2 })
    const ended = await make.job({ status: 'FAILED', attempts: 2 })
    await suspend()
    await resume()
    expect(await read(imported.id)).toEqual(imported)
    expect(await read(ended.id)).toEqual(ended)
  })

  it('does not make the oldest due job of the metrics older', async () => {
    await factoriesFor(app, tenant).job({ jobType: 'old', maxAttempts: 1, runAt: new Date(Date.now() - 3_600_000) })
    expect((await countJobs(app.database)).oldestDueSeconds).toBeGreaterThanOrEqual(3_600)
    await suspend()
    expect((await countJobs(app.database)).oldestDueSeconds).toBeLessThan(3_600)
    await resume()
  })
})
