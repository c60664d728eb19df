import type { Database } from '@fusion-gateway/database'
import { createMetrics } from '@fusion-gateway/telemetry'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEventLog } from '../../src/domain/event/event-log.ts'
import { countJobs } from '../../src/domain/job/store/job-counts.ts'
import { createJobStore } from '../../src/domain/job/store/job-store.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

// The statements for a database that distributes its tenants over servers have the same results on one server.

const jobTypes = ['a', 'b', 'c']

let app: TestApp
let tenants: TestTenant[]
/** The database, as if it were distributed. */
let distributed: Database

beforeAll(async () => {
  app = await startTestApp()
  const created = await Promise.all(['one', 'two', 'three'].map((name) => app.createTenant(name)))
  tenants = created.sort((one, other) => (one.tenantAppId < other.tenantAppId ? -1 : 1))
  distributed = { ...app.database, driver: { ...app.database.driver, isDistributed: () => true } }
})
afterAll(() => app.close())

/** Makes the jobs due: of each tenant five of type a, two of type b, and one of type c for the second tenant. */
async function createJobs(): Promise<void> {
  await app.database.prisma.$executeRawUnsafe('DELETE FROM job')
  const insert = `INSERT INTO job (tenant_app_id, id, job_type, max_attempts, run_at, updated_at)
    SELECT $1, 'job_' || $2 || '_' || number, $2, 3, now() - make_interval(secs => 100 - number), now()
    FROM generate_series(1, $3::integer) AS number`
  for (const { tenantAppId } of tenants) {
    await app.database.prisma.$executeRawUnsafe(insert, tenantAppId, 'a', 5)
    await app.database.prisma.$executeRawUnsafe(insert, tenantAppId, 'b', 2)
  }
  await app.database.prisma.$executeRawUnsafe(insert, tenants[1]?.tenantAppId, 'c', 1)
}

function storeOf(database: Database) {
  const backoff = { delaySeconds: 1, maxDelaySeconds: 1 }
  return createJobStore(database, { backoff, metrics: createMetrics() })
}

describe('claims of jobs of all tenants', () => {
  it.each([
    ['fewer than there are, from the first tenant on', 7, {}],
    ['as many as there are', 30, {}],
    ['after the tenants that were served last', 9, { a: 0, b: 2 }],
  ])('are the same: %s', async (_name, limit, last) => {
    const lastServed = new Map(Object.entries(last).map(([type, index]) => [type, tenants[index]?.tenantAppId ?? '']))
    const claim = async (database: Database) => {
      await createJobs()
      const jobs = await storeOf(database).claimOfAllTenants({ jobTypes, limit, leaseSeconds: 60, lastServed })
      return jobs.map(({ tenantAppId, id }) => `${tenantAppId} ${id}`).sort()
    }
    const claimed = await claim(distributed)
    expect(claimed).toEqual(await claim(app.database))
    expect(claimed.length).toBeGreaterThan(6)
  })

  it('are returned in the order of the types and of the tenants in turn', async () => {
    await createJobs()
    const lastServed = new Map([['b', tenants[0]?.tenantAppId ?? '']])
    const jobs = await storeOf(distributed).claimOfAllTenants({
      jobTypes: ['b'],
      limit: 5,
      leaseSeconds: 60,
      lastServed,
    })
    const place = (id: string) => tenants.findIndex(({ tenantAppId }) => tenantAppId === id)
    expect(jobs.map(({ tenantAppId }) => place(tenantAppId))).toEqual([1, 1, 2, 2, 0])
  })
})

it('a suspended tenant has no job claimed, and makes the oldest due job no older', async () => {
  const [suspended, ...others] = tenants as [TestTenant, ...TestTenant[]]
  const where = { id: suspended.tenantAppId }
  await createJobs()
  await app.database.prisma.job.updateMany({
    where: { tenantAppId: suspended.tenantAppId },
    data: { runAt: new Date(Date.now() - 3_600_000) },
  })
  expect((await countJobs(distributed)).oldestDueSeconds).toBeGreaterThan(3_000)
  await app.database.prisma.tenantApp.update({ where, data: { suspendedAt: new Date() } })
  for (const database of [distributed, app.database]) {
    expect((await countJobs(database)).oldestDueSeconds).toBeLessThan(3_000)
    await app.database.prisma.job.updateMany({ data: { status: 'PENDING' } })
    const request = { jobTypes, limit: 30, leaseSeconds: 60, lastServed: new Map() }
    const claimed = await storeOf(database).claimOfAllTenants(request)
    expect(new Set(claimed.map(({ tenantAppId }) => tenantAppId))).toEqual(
      new Set(others.map(({ tenantAppId }) => tenantAppId)),
    )
  }
  await app.database.prisma.tenantApp.update({ where, data: { suspendedAt: null } })
})

it('the numbers of jobs are the same', async () => {
  await createJobs()
  await storeOf(distributed).claimOfAllTenants({ jobTypes: ['a'], limit: 4, leaseSeconds: 60, lastServed: new Map() })
  const one = await countJobs(app.database)
  const several = await countJobs(distributed)
  expect(several.states.toSorted()).toEqual(one.states.toSorted())
  expect(one.states).toContainEqual(['RUNNING', 4])
  expect(several.oldestDueSeconds).toBeGreaterThan(90)
  expect(Math.abs(several.oldestDueSeconds - one.oldestDueSeconds)).toBeLessThan(5)
})

it('new events are the same, each tenant with one statement', async () => {
  const [first, second] = tenants as [TestTenant, TestTenant]
  for (const { tenantAppId } of [first, second, second]) {
    await app.database.prisma.$executeRawUnsafe(
      `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, 'usr_' || gen_random_uuid(), $1, $1 || gen_random_uuid(), now())`,
      tenantAppId,
    )
  }
  const ends = [first, second].map(({ tenantAppId }) => ({ tenantAppId, end: '' }))
  const log = createEventLog(app.database)
  const countOf = async () =>
    (await log.readNew(ends)).ofTenant.get(second.tenantAppId)?.filter(({ type }) => type === 'USER_CREATED').length
  // Transactions in other databases of the server can still run.
  await expect.poll(countOf).toBe(2)
  const read = await log.readNew(ends)
  let ofEach = read
  const sent = await app.statementsOf(async () => {
    ofEach = await createEventLog(distributed).readNew(ends)
  })
  expect(sent).toHaveLength(2)
  expect(ofEach.ofTenant).toEqual(read.ofTenant)
  expect(ofEach.ofTenant.get(second.tenantAppId)?.filter(({ type }) => type === 'USER_CREATED')).toHaveLength(2)
  expect(ofEach.horizons).toHaveLength(2)
})
