import { randomUUID } from 'node:crypto'
import type { Database } from '@fusion-gateway/database'
import { deployMigrations, partitionTables, readMigrationStatus, readTenantTables } from '@fusion-gateway/migrate'
import type { Driver } from '@fusion-gateway/sql'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { seedTenant } from '../../src/domain/seed/seed.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { fusion, startGateway } from '../support/cli.ts'
import {
  adminUrl,
  createDatabaseOfOwner,
  dropDatabase,
  hasServer,
  ownerUrl,
  runAsAdmin,
} from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'
import { recordsOf } from '../support/transfer.ts'
import { killedAfter } from './killed-driver.ts'

const tables = [
  '"user"',
  'account',
  'email_record',
  'erasure',
  'event',
  'field_usage',
  'idempotent_answer',
  'job',
  'operation_usage',
  'profile',
  'profile_metric',
  'webhook',
  'webhook_delivery',
]

describe.skipIf(!hasServer)('migrate partition', () => {
  let name: string
  let database: Database
  let tenantAppId: string
  let env: Record<string, string>
  beforeEach(async () => {
    name = `fusion_partition_${randomUUID().slice(0, 8)}`
    await createDatabaseOfOwner(name)
    env = { DATABASE_URL: ownerUrl(name) }
    database = await openDatabase(locationOf(ownerUrl(name)))
    await deployMigrations(database)
    tenantAppId = (await createTenant(database, 'First')).id
    await seedTenant(database, { tenantAppId, users: 30, seed: 1 })
  })
  afterEach(async () => {
    await database.close()
    await dropDatabase(name)
  })

  const run = (...args: string[]) => fusion(['migrate', 'partition', ...args], env)
  async function exportAll() {
    const { stdout, ...run } = await fusion(['export', '--tenant', 'First'], env)
    return { ...run, records: recordsOf(stdout) }
  }

  /** Indexes, constraints, triggers and privileges of the tables, without those of partitions. */
  const readShape = async () => {
    const parts = await database.prisma.$queryRaw<{ part: string }[]>`
    SELECT replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') AS part FROM pg_index JOIN pg_class c ON c.oid = indrelid
    WHERE relnamespace = 'public'::regnamespace AND NOT relispartition
    UNION ALL SELECT conrelid::regclass || conname || pg_get_constraintdef(t.oid) FROM pg_constraint t JOIN pg_class c ON c.oid = conrelid
    WHERE relnamespace = 'public'::regnamespace AND NOT relispartition AND conparentid = 0
    UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE NOT tgisinternal AND NOT relispartition
    UNION ALL SELECT relname || relacl::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
      AND relacl IS NOT NULL AND NOT relispartition
    UNION ALL SELECT table_name || column_name || data_type || is_nullable || coalesce(column_default, '') FROM information_schema.columns
    WHERE table_name IN ('user', 'account', 'profile', 'email_record', 'job', 'idempotent_answer', 'erasure', 'webhook', 'webhook_delivery') ORDER BY 1`
    // PostgreSQL prints the condition of a trigger with fewer parentheses when it has read it from its own text.
    return parts.map(({ part }) => part.replace(/[()]/g, ''))
  }

  /** The driver, with other scripts in place of those that it is told to run. */
  const intercepted = (change: (script: string) => string | Promise<string>): Driver => ({
    ...database.driver,
    exclusively: (work) =>
      database.driver.exclusively((connector) =>
        work({ ...connector, runScript: async (script) => connector.runScript(await change(script)) }),
      ),
  })

  const waitForLock = async () => {
    const waiting = `SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = '${name}')`
    while ((await database.prisma.$queryRawUnsafe<unknown[]>(waiting)).length === 0);
  }

  it('keeps every row, index, foreign key, trigger and privilege; gateways and commands work on the partitions', async () => {
    await database.prisma.$executeRawUnsafe('GRANT SELECT ON "user" TO pg_monitor WITH GRANT OPTION')
    const { key } = await createKey(database, { tenantAppId, name: 'k' })
    const [before, shape] = [await exportAll(), await readShape()]
    expect(await run('--modulus', '4')).toEqual({
      code: 0,
      stdout: `Partitioned ${tables.join(', ')}: 4 partitions each. They have 1794 rows, as before.\n`,
      stderr: '',
    })
    expect(await readTenantTables(database.sql)).toMatchObject(
      tables.map((table) => ({ name: table, partitions: { length: 4 } })),
    )
    expect(await readShape()).toEqual(shape)
    expect(await exportAll()).toEqual(before)
    expect(await run('--modulus', '4')).toMatchObject({ code: 0, stdout: 'All tables are partitioned.\n' })
    expect(await run()).toMatchObject({
      code: 1,
      stderr: 'The table "user" has 4 partitions. Their number cannot be changed.\n',
    })
    const gateway = await startGateway(env)
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'New', email: 'new@example.com', phone: '1' })
    const created = await fetch(`${gateway.address}/users`, { method: 'POST', headers, body })
    expect(created.status).toBe(201)
    const { id } = (await created.json()) as { id: string }
    expect((await fetch(`${gateway.address}/users/${id}`, { headers })).status).toBe(200)
    await gateway.stop()
    await database.prisma.tenantApp.delete({ where: { id: tenantAppId } })
    expect(await database.prisma.emailRecord.count()).toBe(0)
  })

  it('changes nothing if it is interrupted, whatever it was doing', async () => {
    const [before, shape] = [await exportAll(), await readShape()]
    const countPartitions = async () =>
      (await readTenantTables(database.sql)).map(({ partitions }) => partitions.length)
    let steps = 0
    do {
      steps += 2
      await partitionTables(killedAfter(database.driver, steps), { modulus: 3 }).catch(() => undefined)
      expect(await readShape()).toEqual(shape)
    } while (!(await countPartitions()).some(Boolean))
    expect(steps).toBeGreaterThan(20)
    expect(await countPartitions()).toEqual(tables.map(() => 3))
    expect(await exportAll()).toEqual(before)
  })

  it('lets gateways read; their writes wait, and are 503 with Retry-After if that takes too long; none is lost', async () => {
    const { key } = await createKey(database, { tenantAppId, name: 'k' })
    const gateway = await startGateway({ ...env, DATABASE_STATEMENT_TIMEOUT: '1' })
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'New', email: 'new@example.com', phone: '1' })
    const write = () => fetch(`${gateway.address}/users`, { method: 'POST', headers, body })
    const writer = new pg.Client({ connectionString: adminUrl(name) })
    await writer.connect()
    const [reached, continued] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const driver = intercepted(async (script) => {
      if (!script.includes('ANALYZE')) return script
      reached.resolve()
      await continued.promise
      return script
    })
    const partitioning = partitionTables(driver, { modulus: 4 })
    await reached.promise
    expect((await fetch(`${gateway.address}/users?limit=1`, { headers })).status).toBe(200)
    const rejected = await write()
    expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
    const waiting = writer.query(`UPDATE "user" SET name = 'Later'`)
    await waitForLock()
    continued.resolve()
    expect(await partitioning).toMatchObject({ rows: 1794 })
    expect((await waiting).rowCount).toBe(30)
    expect(await database.prisma.user.count({ where: { name: 'Later' } })).toBe(30)
    expect((await write()).status).toBe(201)
    await Promise.all([gateway.stop(), writer.end()])
  })

  it('replaces nothing if a copy lacks a row', async () => {
    const driver = intercepted((script) =>
      /^INSERT .* public\.email_record$/.test(script) ? `${script} OFFSET 1` : script,
    )
    await expect(partitionTables(driver, { modulus: 2 })).rejects.toThrow(
      /^public\.email_record has (\d+) rows, and its copy (\d+)\. Nothing has changed\.$/,
    )
    expect((await readTenantTables(database.sql)).flatMap(({ partitions }) => partitions)).toEqual([])
  })

  it('names what a copy would lose, and what cannot follow, and begins nothing', async () => {
    await database.sql.runScript(`
      CREATE VIEW names AS SELECT name FROM "user";
      GRANT SELECT (name) ON "user" TO pg_monitor;
      CREATE POLICY own ON job USING (true);
      ALTER TABLE profile SET (fillfactor = 90);
      CREATE PUBLICATION changes_${name} FOR TABLE account`)
    const again = 'after the conversion.\n'
    expect(await run()).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `The column name of public."user" has privileges of its own. Revoke them, and grant them again ${again}` +
        `The table public.account is part of the publication changes_${name}. Remove it, and add it again ${again}` +
        `The table public.job has the policy own. Remove it, and create it again ${again}` +
        `The table public.profile has the storage parameters fillfactor=90. Reset them, and set them on the partitions ${again}`,
    })
    await database.sql.runScript(
      `REVOKE SELECT (name) ON "user" FROM pg_monitor; DROP POLICY own ON job; ALTER TABLE profile RESET (fillfactor); DROP PUBLICATION changes_${name}`,
    )
    expect((await run()).stderr).toMatch(
      /^The tables cannot be replaced: .*view public\.names depends on table public\."user"/,
    )
    await database.sql.runScript('DROP VIEW names; ALTER TABLE job ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY')
    expect((await run()).stderr).toMatch(/^The database refused: .*row-level security policy for table "job"/)
    await database.sql.runScript('ALTER TABLE job DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY')
    expect((await run()).code).toBe(0)
  })

  it('says that it can be run again if PostgreSQL ends it because of a deadlock', async () => {
    await runAsAdmin(`ALTER DATABASE ${name} SET deadlock_timeout = '3s'`)
    const session = new pg.Client({ connectionString: adminUrl(name) })
    await session.connect()
    // PostgreSQL ends the transaction that finds the deadlock, and this one does not look for it.
    await session.query(`SET deadlock_timeout = '10min'; BEGIN; LOCK TABLE account IN ROW EXCLUSIVE MODE`)
    const partitioning = run('--modulus', '4')
    await waitForLock()
    await session.query('LOCK TABLE "user" IN ROW EXCLUSIVE MODE')
    expect(await partitioning).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'Other transactions hold locks on the tables: deadlock detected. Nothing has changed. It is safe to run the command again.\n',
    })
    await session.end()
    expect(await run('--modulus', '4')).toMatchObject({ code: 0 })
  })

  it('is followed by migrations: indexes are built concurrently on each partition, and repeated if they were interrupted', async () => {
    await partitionTables(database.driver, { modulus: 3 })
    const shape = await readShape()
    const migration = '20261122125100_indexes_for_lists'
    const forget = (name: string) =>
      database.sql.runScript(`DELETE FROM _prisma_migrations WHERE migration_name = '${name}'`)
    await forget(migration)
    for (const steps of [20, 21, 22, 23, 24, 25, 26]) {
      await expect(deployMigrations({ ...database, driver: killedAfter(database.driver, steps) })).rejects.toThrow()
    }
    expect(await deployMigrations(database)).toEqual([migration])
    expect(await readMigrationStatus(database.sql)).toMatchObject({ pending: [], failed: [] })
    // It creates indexes that a later one drops.
    await forget('20261130120000_contract_of_0_1_0')
    await deployMigrations(database)
    expect(await readShape()).toEqual(shape)
    const invalid = await database.prisma
      .$queryRaw`SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid`
    expect(invalid).toEqual([])
  })
})

describe('migrate partition', () => {
  it('is for PostgreSQL', async () => {
    expect(await fusion(['migrate', 'partition'], { DATA_DIR: 'memory' })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The embedded database cannot be partitioned. Set DATABASE_URL to that of a PostgreSQL server.\n',
    })
  })
})
