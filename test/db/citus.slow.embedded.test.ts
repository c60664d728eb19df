import { afterAll, describe, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { run } from '../support/postgresql.ts'

// TEST_CITUS_URL is a PostgreSQL server with Citus, as a superuser.

const serverUrl = process.env['TEST_CITUS_URL']
const name = `fusion_test_citus_${process.pid}`
const url = () => String(new URL(name, serverUrl))

afterAll(async () => {
  if (serverUrl) await run(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
})

describe.skipIf(!serverUrl)('a database whose tables Citus has distributed', () => {
  it('is refused, because a follower would miss events; the extension alone is not', async () => {
    await run(String(serverUrl), `CREATE DATABASE ${name}`)
    await run(url(), 'CREATE EXTENSION citus')
    const env = { DATABASE_URL: url(), PORT: '0', HOST: 'nowhere.invalid' }
    expect(await fusion(['migrate', 'deploy'], env)).toMatchObject({ code: 0 })
    expect((await fusion(['serve'], env)).stderr).toContain('nowhere.invalid')
    await run(url(), 'ALTER TABLE operation_usage DROP CONSTRAINT operation_usage_tenant_app_id_fkey')
    await run(url(), "SELECT create_distributed_table('operation_usage', 'tenant_app_id')")
    for (const command of ['serve', 'work']) {
      expect(await fusion([command], env)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Citus has distributed the table operation_usage.'),
      })
    }
  })
})
