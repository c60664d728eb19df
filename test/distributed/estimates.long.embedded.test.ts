import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { listen } from '../support/gateway.ts'
import { canCreateCitus, createCitusServers, distribute } from './citus-servers.ts'

const isTested = Boolean(process.env['TEST_CITUS_URL']) && canCreateCitus

describe.skipIf(!isTested)('an estimate on a distributed database', () => {
  it('is that of the node of the tenant, and null for tenants with many rows', async () => {
    const servers = await createCitusServers(2)
    onTestFinished(() => servers.remove())
    const { coordinator } = servers
    await distribute(servers)
    const gateway = await listen(coordinator.url, { introspection: false })
    onTestFinished(() => gateway.close())
    const { id: tenantAppId } = await createTenant(gateway.database, 'Tenant')
    const { key } = await createKey(gateway.database, { tenantAppId, name: 'key' })
    const session = new pg.Client({ connectionString: coordinator.adminUrl })
    await session.connect()
    onTestFinished(() => session.end())

    const createUsers = async (first: number, last: number) => {
      await session.query(
        `INSERT INTO "user" (tenant_app_id, id, name, email, phone, updated_at)
         SELECT $1, 'usr_' || number, 'n', 'e', CASE WHEN number % 4 = 0 THEN '1' END, now()
         FROM generate_series($2::integer, $3::integer) AS number`,
        [tenantAppId, first, last],
      )
      await session.query('ANALYZE')
    }
    const estimate = async (filter: string) => {
      const query = `{ users(first: 0, filter: ${filter}) { totalCountEstimate } }`
      const payload = { query }
      const headers = { 'x-api-key': key }
      const response = await gateway.app.inject({ method: 'POST', url: '/graphql', headers, payload })
      return response.json().data.users.totalCountEstimate
    }
    await createUsers(1, 2_000)
    expect(await estimate('{}')).toBe(2_000)
    const without = await estimate('{ phoneIsNull: true }')
    expect(without).toBeGreaterThan(1_300)
    expect(without).toBeLessThan(1_700)
    await createUsers(2_001, 10_001)
    expect(await estimate('{}')).toBeNull()
  }, 120_000)
})
