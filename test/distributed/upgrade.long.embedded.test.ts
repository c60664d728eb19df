import type { Database } from '@fusion-gateway/database'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventFollower } from '../../src/domain/event/event-follower.ts'
import { killedAfter } from '../db/killed-driver.ts'
import { fusion, runProcess } from '../support/cli.ts'
import { type ListeningGateway, listen } from '../support/gateway.ts'
import { migrate } from '../support/migrate.ts'
import { run } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'
import { type CitusDatabase, createCitusDatabase } from './citus-database.ts'
import * as further from './further-migrations.ts'

const pool = { connectMilliseconds: 30_000, acquireMilliseconds: 30_000, statementMilliseconds: 60_000 }
const tenants = ['One', 'Two', 'Three', 'Four']

describe.skipIf(!process.env['TEST_CITUS_URL'])('migrate deploy on a distributed database', () => {
  let next: further.NextVersion
  const env = { DATABASE_URL: '', PORT: '0', HOST: 'nowhere.invalid' }
  const keys: string[] = []
  const followers: EventFollower[] = []
  let citus: CitusDatabase
  let database: Database
  let gateway: ListeningGateway

  // The gateway runs from here on, while the migrations of the next version are applied.
  beforeAll(async () => {
    next = await further.createNextVersion()
    citus = await createCitusDatabase('upgrade')
    env.DATABASE_URL = citus.adminUrl()
    await migrate(citus.ownerUrl, citus.role)
    const nodes = citus.nodes.flatMap((node) => ['--node', node])
    expect(await fusion(['migrate', 'distribute', '--shards', '4', ...nodes], env)).toMatchObject({ code: 0 })
    for (const name of tenants) {
      await fusion(['tenants', 'create', name], env)
      await fusion(['seed', '--tenant', name, '--users', '5'], env)
      keys.push((await fusion(['keys', 'create', '--tenant', name], env)).stdout.trim())
    }
    database = await next.openDatabase(locationOf(citus.ownerUrl, pool))
    gateway = await listen(citus.url)
    for (const { id } of await citus.rows('SELECT id FROM tenant_app ORDER BY created_at')) {
      followers.push(await gateway.services.events.follow({ tenantAppId: String(id), keyId: 'test' } as never))
    }
  }, 120_000)
  afterAll(async () => {
    for (const follower of followers) follower.return()
    await gateway?.close()
    await database?.close()
    await citus?.remove()
    next?.remove()
  })

  const add = (sql: string) => next.add(sql)
  const deploy = () => next.deployMigrations(database)
  const status = () => next.readMigrationStatus(database.sql)
  const fusionOfNext = (...args: string[]) => runProcess(args, env, next.command)
  const onEach = (sql: string) => Promise.all([undefined, ...citus.nodes].map((node) => citus.rows(sql, node)))
  const contents = () =>
    citus.rows(`SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM (
    SELECT tenant_app_id, id, name, email, created_at, updated_at FROM "user") AS t`)

  /** Writes a user of each tenant, and requires that the gateway returns it and that its followers see its event. */
  async function write(): Promise<void> {
    for (const [number, key] of keys.entries()) {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' }
      const body = JSON.stringify({ name: 'Later', email: 'a@example.com', phone: '1' })
      const response = await fetch(`${gateway.address}/users`, { method: 'POST', headers, body })
      expect(response.status).toBe(201)
      const { id } = (await response.json()) as { id: string }
      expect((await fetch(`${gateway.address}/users/${id}`, { headers })).status).toBe(200)
      for (let seen = false; !seen; ) {
        const page = await followers[number]?.next()
        seen = page?.some(({ resourceId, type }) => resourceId === id && type === 'USER_CREATED') ?? true
      }
    }
  }

  it('creates a table of tenants, with its rows, keys and trigger, on their nodes', async () => {
    const before = await contents()
    const name = add(further.tableOfTenants)
    expect(await deploy()).toEqual([name])
    expect(await contents()).toEqual(before)
    const colocated = `SELECT FROM pg_dist_partition AS p JOIN pg_dist_partition AS e USING (colocationid)
      WHERE p.logicalrelid = 'badge'::regclass AND e.logicalrelid = 'event'::regclass`
    expect(await citus.rows(colocated)).toHaveLength(1)
    expect(await citus.rows('SELECT FROM badge')).toHaveLength(20)
    expect(await citus.rows(`SELECT pg_relation_size('badge')::integer AS bytes`)).toEqual([{ bytes: 0 }])
    const badge = `INSERT INTO badge (tenant_app_id, id, user_id) SELECT tenant_app_id, 'new', id FROM "user"
      WHERE name = 'Later'`
    await write()
    await citus.rows(badge)
    expect(await citus.rows(`SELECT FROM event WHERE type = 'BADGE_CREATED' AND resource_id = 'new'`)).toHaveLength(4)
    await citus.rows(`DELETE FROM "user" WHERE name = 'Later'`)
    expect(await citus.rows(`SELECT FROM badge WHERE id = 'new'`)).toHaveLength(0)
  })

  it('creates a table that each node has, a column with values, an enum value and an index', async () => {
    const before = await contents()
    const names = [further.tableOfNodes, further.column, further.enumValue, further.index].map(add)
    expect(await deploy()).toEqual(names)
    for (const regions of await onEach('SELECT name, kind FROM region')) {
      expect(regions).toEqual([{ name: 'north', kind: 'HOME' }])
    }
    expect(await citus.rows(`SELECT FROM "user" WHERE nickname = lower(name)`)).toHaveLength(20)
    expect(await citus.rows(`SELECT 'PAUSED'::job_status`)).toHaveLength(1)
    expect(await contents()).toEqual(before)
    const indexes = await onEach(`SELECT FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
      WHERE relname LIKE 'user_nickname_idx%' AND indisvalid`)
    expect(indexes.every(({ length }) => length > 0)).toBe(true)
    await write()
  })

  it('gives each node what each server has, and keeps the functions of distributed tables in force', async () => {
    const name = add(further.eachServer)
    const deployed = deploy()
    let isDeployed = false
    void deployed.finally(() => {
      isDeployed = true
    })
    // The functions of one server would write no events.
    while (!isDeployed) await write()
    expect(await deployed).toEqual([name])
    expect(await onEach('SELECT further()::integer')).toEqual([undefined, ...citus.nodes].map(() => [{ further: 7 }]))
    await write()
    expect(await fusionOfNext('verify', 'distribution')).toMatchObject({ code: 0 })
  })

  it('goes on with migrate deploy --contract, when no gateway of the previous release runs', async () => {
    next.writeContract('DROP INDEX CONCURRENTLY IF EXISTS "user_search_idx";')
    await run(citus.ownerUrl, 'CREATE INDEX user_search_idx ON "user" (name)')
    expect(await fusionOfNext('migrate', 'deploy', '--contract')).toMatchObject({
      code: 0,
      stdout: 'Nothing to apply.\nDropped user_search_idx\n',
    })
    const left = await onEach(`SELECT FROM pg_class WHERE relname LIKE 'user_search_idx%'`)
    expect(left.flat()).toEqual([])
  })

  it('changes nothing when a migration fails, and can be run again', async () => {
    const name = add(`CREATE TABLE "half" ("tenant_app_id" TEXT, "id" TEXT, PRIMARY KEY ("tenant_app_id", "id"));
      CREATE OR REPLACE FUNCTION "write_events"() RETURNS trigger AS $$ BEGIN RETURN NULL; END $$ LANGUAGE plpgsql;
      ALTER TABLE "half" ADD CONSTRAINT "half_fkey" FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id");
      ALTER TABLE "cause" ADD COLUMN "id" TEXT;`)
    for (let again = 0; again < 2; again += 1) {
      await expect(deploy()).rejects.toThrow(
        `The migration ${name} failed: relation "cause" does not exist\nIt changed`,
      )
      expect(await onEach(`SELECT to_regclass('half')::text AS half`)).toEqual([{}, {}, {}].map(() => [{ half: null }]))
      expect(await status()).toMatchObject({ failed: [name], pending: [name] })
    }
    await write()
    expect(await fusion(['migrate', 'status'], env)).toMatchObject({ stdout: expect.stringContaining(name) })
    await run(citus.ownerUrl, 'CREATE TABLE cause (name text PRIMARY KEY)')
    expect(await deploy()).toEqual([name])
    expect(await fusionOfNext('verify', 'distribution')).toMatchObject({ code: 0 })
  })

  it('that is killed after any statement is completed by the next one', async () => {
    let steps = 0
    const scripts = ['"a" TEXT', '"b" TEXT'].map((column) => `ALTER TABLE "badge" ADD COLUMN ${column};`)
    const names = scripts.map(add)
    for (let isKilled = true; isKilled; steps += 7) {
      const killed = { ...database, driver: killedAfter(database.driver, steps) }
      isKilled = await next.deployMigrations(killed).then(
        () => false,
        () => true,
      )
      await deploy()
      expect(await status()).toMatchObject({ pending: [], failed: [] })
      if (!isKilled) continue
      await run(citus.adminUrl(), `DELETE FROM _prisma_migrations WHERE migration_name IN ('${names.join("', '")}')`)
      await run(citus.adminUrl(), 'ALTER TABLE badge DROP COLUMN a, DROP COLUMN b')
    }
    expect(steps).toBeGreaterThan(30)
    await write()
  }, 120_000)

  it('waits for another one', async () => {
    const name = add('ALTER TABLE "badge" ADD COLUMN "both" TEXT;')
    const other = await next.openDatabase(locationOf(citus.ownerUrl, pool))
    const applied = await Promise.all([deploy(), next.deployMigrations(other)])
    await other.close()
    expect(applied.flat()).toEqual([name])
  })

  it('refuses what Citus cannot do, before anything has changed', async () => {
    const first = add('ALTER TABLE "badge" ADD COLUMN "first" TEXT;')
    const name = add(`DO $$ BEGIN PERFORM 1; END $$;`)
    await expect(deploy()).rejects.toThrow(`The migration ${name} cannot be applied to a distributed database: a DO`)
    expect(await status()).toMatchObject({ pending: [first, name], failed: [] })
  })

  it('and the other commands leave a table that another program has created', async () => {
    await run(citus.ownerUrl, 'CREATE TABLE note (id text PRIMARY KEY)')
    expect((await fusion(['serve'], env)).stderr).toContain('nowhere.invalid')
    expect(await fusion(['verify', 'distribution'], env)).toMatchObject({ code: 0 })
    expect((await fusion(['migrate', 'distribute'], env)).stdout).not.toContain('note')
    await write()
  })
})
