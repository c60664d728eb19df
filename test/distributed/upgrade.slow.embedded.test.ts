import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../src/engine/db/database.ts'
import { deployMigrations, readMigrationStatus } from '../../src/engine/db/migrations/migrations.ts'
import { fusion } from '../support/cli.ts'
import { type ListeningGateway, listen } from '../support/gateway.ts'
import { migrate } from '../support/migrate.ts'
import { locationOf } from '../support/settings.ts'
import { type CitusDatabase, createCitusDatabase } from './citus-database.ts'
import * as further from './further-migrations.ts'

const pool = { connectMilliseconds: 30_000, acquireMilliseconds: 30_000, statementMilliseconds: 60_000 }
const names = ['One', 'Two', 'Three', 'Four']

describe.skipIf(!process.env['TEST_CITUS_URL'])('migrate deploy on a distributed database', () => {
  const migrations = further.createMigrationsFolder()
  const { folder } = migrations
  const env = { DATABASE_URL: '' }
  const keys: string[] = []
  let citus: CitusDatabase
  let database: Database
  let gateway: ListeningGateway

  beforeAll(async () => {
    citus = await createCitusDatabase('upgrade')
    env.DATABASE_URL = citus.adminUrl()
    await migrate(citus.ownerUrl, citus.role)
    const nodes = citus.nodes.flatMap((node) => ['--node', node])
    expect(await fusion(['migrate', 'distribute', '--shards', '4', ...nodes], env)).toMatchObject({ code: 0 })
    for (const name of names) {
      await fusion(['tenants', 'create', name], env)
      await fusion(['seed', '--tenant', name, '--users', '5'], env)
      keys.push((await fusion(['keys', 'create', '--tenant', name], env)).stdout.trim())
    }
    database = await openDatabase(locationOf(citus.ownerUrl, pool))
    gateway = await listen(citus.url)
  }, 120_000)
  afterAll(async () => {
    await gateway?.close()
    await database?.close()
    await citus?.remove()
    rmSync(folder, { recursive: true })
  })

  const deploy = () => deployMigrations(database, { folder })
  /** Writes a user of each tenant through the gateway that runs all the time. */
  async function write(name: string): Promise<void> {
    for (const key of keys) {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' }
      const body = JSON.stringify({ name, email: 'a@example.com', phone: '1' })
      expect((await fetch(`${gateway.address}/users`, { method: 'POST', headers, body })).status).toBe(201)
    }
  }

  const rowsOfUsers = () =>
    citus.rows(`SELECT tenant_app_id, id, name, email, created_at, updated_at FROM "user" ORDER BY 1, 2`)

  it('applies a table of tenants', async () => {
    const before = await rowsOfUsers()
    const name = migrations.add(further.tableOfTenants)
    expect(await deploy()).toEqual([name])
    expect(await rowsOfUsers()).toEqual(before)
  })
  it('applies a table of nodes', async () => {
    const name = migrations.add(further.tableOfNodes)
    expect(await deploy()).toEqual([name])
  })
  it('applies a column', async () => {
    const name = migrations.add(further.column)
    expect(await deploy()).toEqual([name])
  })
  it('applies an index', async () => {
    const name = migrations.add(further.index)
    expect(await deploy()).toEqual([name])
  })
  it('applies an enum value', async () => {
    const name = migrations.add(further.enumValue)
    expect(await deploy()).toEqual([name])
  })
  it('applies each', async () => {
    const name = migrations.add(further.eachServer)
    expect(await deploy()).toEqual([name])
    await write('x')
    expect(await readMigrationStatus(database.sql, folder)).toMatchObject({ pending: [], failed: [] })
  })
})
