import { once } from 'node:events'
import { createServer } from 'node:net'
import { modelTables } from '@fusion-gateway/database'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connectStranger, expectNoAccess, expectNothingOfFunctions, listTables, type Stranger } from '../db/stranger.ts'
import { fusion } from '../support/cli.ts'
import { awkwardPassword, type Cluster } from '../support/cluster.ts'
import { readBlocks } from '../support/docs.ts'
import { type ListeningGateway, listen } from '../support/gateway.ts'
import { run } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'
import { type CitusServers, canCreateCitus, createCitusServers, distribute } from './citus-servers.ts'
import { createNextVersion, tableOfTenants } from './further-migrations.ts'

// A role of the servers, to which nothing was granted. It can also connect from one server to the others.
const name = 'stranger'

/** The settings with which Citus keeps the most about statements. */
const settings = {
  shared_preload_libraries: 'citus,pg_stat_statements',
  'citus.stat_statements_track': 'all',
  'citus.stat_tenants_track': 'all',
}

/** What a text about statements of the gateway contains. */
const secret = 'secret-of-a-tenant'

describe.skipIf(!process.env['TEST_CITUS_URL'] || !canCreateCitus)('a role to which nothing was granted', () => {
  let servers: CitusServers
  let distributed: readonly Cluster[]
  let tenant: { readonly tenantAppId: string; readonly key: string }
  let gateway: ListeningGateway
  /** The sessions of the role, on the coordinator and on each node. */
  const strangers: Stranger[] = []

  beforeAll(async () => {
    servers = await createCitusServers(3, () => settings)
    const { coordinator, nodes, all } = servers
    distributed = all.slice(0, 3)
    for (const { adminUrl } of all) await run(adminUrl, 'CREATE EXTENSION pg_stat_statements')
    tenant = await distribute({ ...servers, nodes: nodes.slice(0, 2) })
    const password = pg.escapeLiteral(awkwardPassword)
    for (const { adminUrl } of [coordinator, all[3] as Cluster]) {
      await run(adminUrl, `CREATE ROLE ${name} LOGIN PASSWORD ${password}`)
    }
    for (const { adminUrl } of all) {
      await run(
        adminUrl,
        `INSERT INTO pg_dist_authinfo SELECT nodeid, '${name}', authinfo FROM pg_dist_authinfo WHERE rolename = 'fusion-app'`,
      )
    }
    gateway = await listen(coordinator.url)
    // Statistics keep values that several rows have.
    for (let count = 0; count < 3; count += 1) await writeUser()
    await run(coordinator.adminUrl, 'ANALYZE "user"')
    for (const server of distributed) {
      const stranger = await connectStranger(urlOf(server))
      // Each session can set them. They show it the shards, and lift what Citus forbids all roles.
      await stranger.client.query('SET citus.override_table_visibility = off')
      await stranger.client.query('SET citus.enable_manual_changes_to_shards = on')
      strangers.push(stranger)
    }
  }, 180_000)
  afterAll(async () => {
    for (const { client } of strangers) await client.end().catch(() => undefined)
    await gateway?.close()
    await servers?.remove()
  })

  async function writeUser(): Promise<void> {
    const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: secret, email: 'a@example.com', phone: '1' })
    expect((await fetch(`${gateway.address}/users`, { method: 'POST', headers, body })).status).toBe(201)
  }

  it('reads, writes and empties no table and no shard, on any server', async () => {
    for (const [number, stranger] of strangers.entries()) {
      const tables = await listTables(stranger)
      expect(tables).toEqual(expect.arrayContaining(['"user"', 'event', 'event_state', 'event_raise']))
      expect(tables.filter((table) => /_\d+$/.test(table)).length).toBeGreaterThan(number === 0 ? 3 : 20)
      // Numbers of the log while `migrate move` runs, which the functions of the log read.
      await expectNoAccess(
        stranger,
        tables.filter((table) => table !== 'event_raise'),
      )
      expect(await stranger.outcome('DELETE FROM event_raise')).toBe('permission denied for table event_raise')
    }
  })

  it('sees nothing by the functions of the gateway, on any server', async () => {
    for (const stranger of strangers) await expectNothingOfFunctions(stranger)
  })

  it('sees no row, tenant or statement of others by what Citus has', async () => {
    const open = new pg.Client({ connectionString: servers.coordinator.url })
    await open.connect()
    onTestFinished(() => open.end())
    await open.query(`SELECT count(*) FROM "user" WHERE tenant_app_id = '${tenant.tenantAppId}' AND name = '${secret}'`)
    const admin = await connectStranger(servers.coordinator.adminUrl)
    onTestFinished(() => admin.client.end())
    const shown = await readAll(admin)
    for (const text of [tenant.tenantAppId, secret]) expect(shown).toContain(text)
    for (const stranger of strangers) {
      const seen = await readAll(stranger)
      expect(seen).toContain('permission denied for table user')
      for (const text of [tenant.tenantAppId, secret]) expect(seen).not.toContain(text)
    }
  })

  it('cannot lock or move shards', async () => {
    for (const { namesOf, outcome } of strangers) {
      const [shard] = await namesOf(
        `SELECT min(shardid) AS name FROM pg_dist_shard WHERE logicalrelid = 'job'::regclass`,
      )
      const calls = [
        `lock_shard_metadata(7, ARRAY[${shard}])`,
        `lock_shard_resources(1, ARRAY[${shard}])`,
        `lock_relation_if_exists('public.job', 'ACCESS SHARE')`,
        `citus_rebalance_start()`,
        `citus_move_shard_placement(${shard}, 2, 3, 'block_writes')`,
        `citus_move_shard_placement(${shard}, 3, 2, 'block_writes')`,
        `isolate_tenant_to_new_shard('job', '${tenant.tenantAppId}', 'CASCADE', 'block_writes')`,
        `undistribute_table('job')`,
        `citus_drop_all_shards('job', 'public', 'job')`,
        `citus_create_restore_point('of-stranger')`,
        `recover_prepared_transactions()`,
      ]
      for (const call of calls) {
        expect([call, await outcome(`SELECT ${call}`)]).toEqual([
          call,
          expect.stringMatching(/^permission denied|^must be owner|^operation is not allowed/),
        ])
      }
    }
  })

  it('can connect a server to any address by a function of Citus', async () => {
    const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(listener, 'listening')
    onTestFinished(() => void listener.close())
    const address = listener.address()
    const connected = once(listener, 'connection')
    const port = typeof address === 'object' ? address?.port : undefined
    await strangers[0]?.outcome(`SELECT citus_check_connection_to_node('127.0.0.1', ${port})`)
    await connected
  })

  it('can drop an index by a function of Citus', async () => {
    for (const { client, namesOf } of strangers.slice(1)) {
      const [index] = await namesOf(`SELECT indexrelid::regclass::text AS name FROM pg_index
        WHERE indrelid::regclass::text ~ '^job_\\d+$' AND NOT indisunique LIMIT 1`)
      await client.query(steal(String(index)))
      expect(await namesOf(`SELECT to_regclass('${index}') AS name`)).toEqual([null])
    }
  })

  it('does not get in after the statements of the documentation, on a node that is added either', async () => {
    const { coordinator, all } = servers
    const ofStrangers = (file: string, text: string) =>
      readBlocks(file).find(({ code }) => code.includes(text))?.code ?? 'false'
    await coordinator.runScript(ofStrangers('docs/operating.md', 'ON DATABASE'), { DATABASE_URL: coordinator.ownerUrl })
    const address = new URL(String(all[3]?.adminUrl)).host
    const env = { DATABASE_URL: coordinator.adminUrl }
    expect(await fusion(['migrate', 'distribute', '--node', address], env)).toMatchObject({ code: 0 })
    for (const server of all) {
      await expect(run(urlOf(server), 'SELECT 1')).rejects.toThrow('permission denied for database "fusion"')
      for (const url of [server.url, server.ownerUrl]) await run(url, 'SELECT 1')
    }

    await coordinator.runScript(ofStrangers('docs/scaling.md', 'worker_split_copy'), env)
    for (const { url } of all) {
      const app = await connectStranger(url)
      onTestFinished(() => app.client.end())
      for (const call of [
        `worker_change_sequence_dependency('job', 'job', 'job')`,
        `worker_split_copy(1, '', '{}')`,
        `citus_internal.delete_placement_metadata(1)`,
        `citus_internal_add_tenant_schema(1, 1)`,
        `citus_check_connection_to_node('127.0.0.1', 1)`,
      ]) {
        expect(await app.outcome(`SELECT ${call}`)).toMatch(/^permission denied for function/)
      }
    }
  })

  it('leaves the role of the gateway the privileges of one server, on each table and shard', async () => {
    for (const { adminUrl } of servers.all) {
      const { client, namesOf } = await connectStranger(adminUrl)
      onTestFinished(() => client.end())
      await client.query('SET citus.override_table_visibility = off')
      const privileges = await namesOf(`
        SELECT DISTINCT regexp_replace(relname, '_\\d+$', '') || ': ' || array_to_string(ARRAY(
          SELECT privilege FROM unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) AS privilege
          WHERE has_table_privilege('fusion-app', oid, privilege)), ' ') AS name
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`)
      const readOnly = ['_prisma_migrations', 'event_raise']
      const expected = modelTables.map((table) => `${table}: SELECT INSERT UPDATE DELETE`)
      expect(privileges.toSorted()).toEqual([...expected, ...readOnly.map((table) => `${table}: SELECT`)].toSorted())
    }
  })

  it('is kept out without keeping the gateway from writing, the owner from migrating, or a tenant from moving', async () => {
    await writeUser()
    const next = await createNextVersion()
    onTestFinished(next.remove)
    const database = await next.openDatabase(locationOf(servers.coordinator.ownerUrl))
    onTestFinished(() => database.close())
    const further = next.add(tableOfTenants)
    expect(await next.deployMigrations(database)).toEqual([further])
    const [, , , added] = servers.all
    const to = new URL(String(added?.adminUrl)).host
    const env = { DATABASE_URL: servers.coordinator.adminUrl }
    expect(await fusion(['migrate', 'move', '--tenant', 'Faults', '--to', to], env)).toMatchObject({ code: 0 })
    await writeUser()
  })
})

function urlOf({ adminUrl }: Cluster): string {
  return Object.assign(new URL(adminUrl), { username: name }).href
}

/** Makes an index depend on a table of the session instead of its own, and drops that table. */
function steal(index: string): string {
  const columns = Array.from({ length: 40 }, (_, number) => `c${number} integer`)
  return `CREATE TEMPORARY TABLE own (${columns.join(', ')});
    SELECT worker_change_sequence_dependency('${index}', indrelid, 'own') FROM pg_index WHERE indexrelid = '${index}'::regclass;
    DROP TABLE own`
}

/** What a session sees in the tables and views of Citus, and by statements that it sends to other servers. */
async function readAll({ client, namesOf }: Stranger): Promise<string> {
  const relations =
    await namesOf(`SELECT DISTINCT objid::regclass::text AS name FROM pg_depend JOIN pg_extension ON pg_extension.oid = refobjid
    JOIN pg_class ON pg_class.oid = objid WHERE classid = 'pg_class'::regclass AND deptype = 'e' AND relkind IN ('r', 'v')
      AND extname IN ('citus', 'citus_columnar', 'pg_stat_statements')`)
  expect(relations).toEqual(
    expect.arrayContaining(['citus_dist_stat_activity', 'pg_dist_placement', 'citus_stat_tenants']),
  )
  const statements = [
    ...relations,
    `run_command_on_all_nodes('SELECT json_agg(u) FROM "user" AS u')`,
    `run_command_on_shards('"user"', 'SELECT json_agg(u) FROM %s AS u')`,
    `run_command_on_placements('tenant_app', 'SELECT json_agg(u) FROM %s AS u')`,
    'citus_query_stats()',
    'get_all_active_transactions()',
    'get_global_active_transactions()',
    'dump_global_wait_edges()',
  ]
  const seen: string[] = []
  for (const from of statements) {
    seen.push(
      await client.query(`SELECT row_to_json(seen)::text AS line FROM ${from} AS seen`).then(
        ({ rows }) => rows.map(({ line }) => line).join('\n'),
        ({ message }: Error) => message,
      ),
    )
  }
  return seen.join('\n')
}
