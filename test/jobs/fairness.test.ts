import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startWorker } from '../../src/domain/job/worker/worker.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { jobClient, present } from '../support/jobs.ts'
import { silentLog } from '../support/webhooks.ts'

let app: TestApp
let tenant: TestTenant
beforeAll(async () => {
  app = await startTestApp()
})
beforeEach(async () => {
  tenant = await app.createTenant()
})
afterAll(() => app.close())

/** Creates jobs that have been due for a minute. */
async function create({ tenantAppId }: Pick<TestTenant, 'tenantAppId'>, jobType: string, count: number): Promise<void> {
  await app.database.prisma.$executeRaw`
    INSERT INTO job (tenant_app_id, id, job_type, max_attempts, run_at, updated_at)
    SELECT ${tenantAppId}, ${jobType} || '_' || number, ${jobType}, 3, now() - interval '1 minute', now()
    FROM generate_series(1, ${count}::integer) AS number`
}

describe('claimJobs', () => {
  /** Claims jobs. Returns how many there are of each type. */
  async function claim(input: { readonly jobTypes: string[]; readonly limit: number }) {
    const { leases } = await jobClient(app, tenant)('claimJobs', input)
    const types = present(leases).map(({ job: { id } }) => id.replace(/_\d+$/, ''))
    return Object.fromEntries([...Map.groupBy(types, (type) => type)].map(([type, { length }]) => [type, length]))
  }

  it.each([
    ['an equal part, if all have enough', { a: 50, b: 50, c: 50 }, { a: 10, b: 10, c: 10 }],
    ['what others leave', { a: 50, b: 2, c: 0 }, { a: 28, b: 2 }],
    ['all, if the others have none', { a: 0, b: 0, c: 50 }, { c: 30 }],
  ])('claims of each type %s', async (_, due, claimed) => {
    for (const [jobType, count] of Object.entries(due)) await create(tenant, jobType, count)
    expect(await claim({ jobTypes: ['a', 'b', 'c'], limit: 30 })).toEqual(claimed)
  })

  it('claims jobs of every type, also one job at a time', async () => {
    await create(tenant, 'a', 200)
    await create(tenant, 'b', 200)
    const claimed = new Set<string>()
    // Each call draws the type that comes first.
    for (let calls = 0; calls < 100 && claimed.size < 2; calls += 1) {
      for (const type of Object.keys(await claim({ jobTypes: ['a', 'b'], limit: 1 }))) claimed.add(type)
    }
    expect([...claimed].toSorted()).toEqual(['a', 'b'])
  })

  it('sends one statement', async () => {
    await create(tenant, 'a', 5)
    const input = { jobTypes: ['a', 'b', 'c'], limit: 4, leaseSeconds: 60 }
    const sent = await app.statementsOf(() => app.services.jobs.claim(tenant.tenantAppId, input))
    expect(sent).toHaveLength(1)
  })
})

describe('a worker', () => {
  /** Runs all jobs. Returns their types in the order in which they were started. */
  async function runAll(jobTypes: string[], count: number, concurrency: number): Promise<string[]> {
    const order: string[] = []
    const done = Promise.withResolvers<void>()
    const handlerOf = (type: string) => () => {
      order.push(type)
      if (order.length === count) done.resolve()
    }
    const { jobs, events } = app.services
    const handlers = new Map(jobTypes.map((type) => [type, handlerOf(type)]))
    const worker = startWorker({ jobs, events, handlers, log: silentLog, concurrency, leaseSeconds: 30 })
    await done.promise
    await worker.stop(1_000)
    return order
  }

  it('starts jobs of every type in each claim', async () => {
    await create(tenant, 'many', 12)
    await create(tenant, 'few', 4)
    const order = await runAll(['many', 'few'], 16, 4)
    expect(order.slice(0, 4).toSorted()).toEqual(['few', 'few', 'many', 'many'])
  })

  it('serves a type of which one tenant has jobs in turn with a type of which two have', async () => {
    // The turns of two types and two tenants must not keep step.
    const [first, second] = [tenant, await app.createTenant()].toSorted((one, other) =>
      one.tenantAppId < other.tenantAppId ? -1 : 1,
    ) as [TestTenant, TestTenant]
    await create(first, 'shared', 10)
    await create(second, 'shared', 10)
    await create(first, 'own', 10)
    const order = await runAll(['shared', 'own'], 30, 1)
    expect(order.slice(0, 20).filter((type) => type === 'own')).toHaveLength(10)
  })
})
