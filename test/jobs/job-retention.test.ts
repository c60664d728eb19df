import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { isDistributed, nodes } from '../support/postgresql.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)

async function createJobs(id: string, finishedAt: Date | null, count = 1) {
  const status = finishedAt ? ('SUCCEEDED' as const) : ('PENDING' as const)
  const data = { tenantAppId: tenant.tenantAppId, status, createdAt: daysAgo(400), updatedAt: daysAgo(400) }
  await app.database.prisma.job.createMany({
    data: Array.from({ length: count }, (_, index) => ({
      ...data,
      id: `${id}_${index}`,
      finishedAt: finishedAt && new Date(finishedAt.getTime() + index),
    })),
  })
}

describe('finished jobs', () => {
  it('are removed in batches after the retention time, and other jobs stay', async () => {
    await createJobs('old', daysAgo(31), 1_100)
    await createJobs('young', daysAgo(29), 2)
    await createJobs('waiting', null, 2)
    const statements = await app.statementsOf(async () => {
      expect(await app.services.jobs.removeFinished(30)).toBe(1_100)
    })
    // Three batches, and before each the time of its last job. Nodes list their tenants first, and each is served
    // alone.
    expect(statements).toHaveLength(isDistributed ? nodes.length + 3 : 6)
    const left = await app.database.prisma.job.findMany({ orderBy: { id: 'asc' } })
    expect(left.map(({ id }) => id)).toEqual(['waiting_0', 'waiting_1', 'young_0', 'young_1'])
  })
})
