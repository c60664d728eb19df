import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

it('cancelJobs skips jobs that another transaction has locked, and counts them as left', async () => {
  const tenant = await app.createTenant()
  const create = factoriesFor(app, tenant)
  const locked = await create.job()
  await create.job()
  const session = new pg.Client({ connectionString: app.database.url })
  await session.connect()
  try {
    await session.query('BEGIN')
    await session.query('SELECT FROM job WHERE tenant_app_id = $1 AND id = $2 FOR UPDATE', [
      tenant.tenantAppId,
      locked.id,
    ])
    const mutation = 'mutation { cancelJobs(input: { filter: {} }) { cancelledCount remainingCount } }'
    const { data } = await app.graphql(tenant, mutation)
    expect(data['cancelJobs']).toEqual({ cancelledCount: 1, remainingCount: 1 })
  } finally {
    await session.end()
  }
  const jobs = await app.database.prisma.job.findMany({ where: { tenantAppId: tenant.tenantAppId, status: 'PENDING' } })
  expect(jobs.map(({ id }) => id)).toEqual([locked.id])
})
