import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { isDistributed } from '../support/postgresql.ts'

const tenants = 60
const jobTypes = Array.from({ length: 8 }, (_, index) => `type_${index}`)

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
  await app.database.prisma.$executeRawUnsafe(`
    INSERT INTO tenant_app (id, name, updated_at)
    SELECT 'ten_' || number, 'Tenant ' || number, now() FROM generate_series(1, ${tenants}) AS number`)
  await app.database.prisma.$executeRawUnsafe(`
    INSERT INTO job (tenant_app_id, id, job_type, max_attempts, run_at, updated_at)
    SELECT tenant_app.id, 'job_' || type || '_' || number, 'type_' || type, 3, now() - interval '1 minute', now()
    FROM tenant_app, generate_series(0, ${jobTypes.length - 1}) AS type, generate_series(1, 2) AS number`)
})
afterAll(() => app.close())

describe('a worker of all tenants', () => {
  it.skipIf(isDistributed)('claims with one statement at any number of tenants and types', async () => {
    const { jobs } = app.services
    for (const types of [jobTypes.slice(0, 1), jobTypes]) {
      const sent = await app.statementsOf(async () => {
        const claimed = await jobs.claimOfAllTenants({
          lastServed: new Map(),
          jobTypes: types,
          limit: 10,
          leaseSeconds: 60,
        })
        expect(claimed).toHaveLength(10)
      })
      expect(sent).toHaveLength(1)
    }
  })

  it('returns jobs in the order of the tenants, also when it starts again with the first', async () => {
    const rows = await app.database.prisma.$queryRaw<{ id: string }[]>`SELECT id FROM tenant_app ORDER BY id`
    const order = rows.map(({ id }) => id)
    const claimAfter = async (tenant: string, limit: number) => {
      const claimed = await app.services.jobs.claimOfAllTenants({
        lastServed: new Map([['type_6', tenant]]),
        jobTypes: ['type_6'],
        limit,
        leaseSeconds: 60,
      })
      return claimed.map(({ tenantAppId }) => order.indexOf(tenantAppId))
    }
    expect(await claimAfter('', 6)).toEqual([0, 0, 1, 1, 2, 2])
    expect(await claimAfter(order[tenants - 2] ?? '', 4)).toEqual([tenants - 1, tenants - 1, 3, 3])
  })

  it('claims jobs of each tenant before it returns to the first', async () => {
    const served: string[] = []
    while (served.length < tenants) {
      const lastServed = new Map([['type_7', served.at(-1) ?? '']])
      const request = { lastServed, jobTypes: ['type_7'], limit: 1, leaseSeconds: 60 }
      const [job] = await app.services.jobs.claimOfAllTenants(request)
      served.push(job?.tenantAppId ?? 'none')
    }
    expect(new Set(served).size).toBe(tenants)
  })
})
