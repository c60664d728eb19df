import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { run } from '../support/postgresql.ts'

// TEST_CITUS_URL is the URL of a superuser and of a database of a coordinator, in which citus_add_node has added the
// nodes.

const serverUrl = process.env['TEST_CITUS_URL']
const name = `fusion_test_citus_${process.pid}`

let nodes: string[] = []

/** The URL of the database under test, on the coordinator or a node. */
function urlOf(host = new URL(String(serverUrl)).host, database = name): string {
  const url = new URL(String(serverUrl))
  url.host = host
  url.pathname = database
  return url.href
}

async function rowsOf(sql: string, connectionString = urlOf()): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const onEach = async (work: (host?: string) => Promise<void>) => {
  for (const host of [undefined, ...nodes]) await work(host)
}

const env = { DATABASE_URL: '', PORT: '0', HOST: 'nowhere.invalid' }
const distribute = (...options: string[]) => fusion(['migrate', 'distribute', '--shards', '4', ...options], env)
const withNodes = () => nodes.flatMap((node) => ['--node', node])

beforeAll(async () => {
  if (!serverUrl) return
  env.DATABASE_URL = urlOf()
  const found = await rowsOf(
    `SELECT nodename || ':' || nodeport AS node FROM pg_dist_node WHERE groupid <> 0`,
    serverUrl,
  )
  nodes = found.map(({ node }) => String(node))
  await onEach((host) => run(urlOf(host, 'postgres'), `CREATE DATABASE ${name}`))
})
afterAll(async () => {
  if (serverUrl) await onEach((host) => run(urlOf(host, 'postgres'), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
})

describe.skipIf(!serverUrl)('migrate distribute', () => {
  it('names what is missing', async () => {
    expect(await fusion(['migrate', 'deploy'], env)).toMatchObject({ code: 0 })
    expect(await distribute()).toMatchObject({ code: 1, stderr: expect.stringContaining('CREATE EXTENSION citus') })
    await run(urlOf(), 'CREATE EXTENSION citus')
    expect(await distribute()).toMatchObject({ code: 1, stderr: expect.stringContaining('citus_set_coordinator_host') })
    const { hostname, port } = new URL(urlOf())
    await run(urlOf(), `SELECT citus_set_coordinator_host('${hostname}', ${port || 5432})`)
    expect(await distribute()).toMatchObject({ code: 1, stderr: expect.stringContaining('--node host:port') })
    const { code, stderr } = await distribute(...withNodes())
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`The node ${nodes[0]} cannot be added`),
    })
    for (const node of nodes) await run(urlOf(node), 'CREATE EXTENSION citus')
  })

  it('keeps all rows, and the log goes on with greater ids on each node', async () => {
    for (const tenant of ['One', 'Two', 'Three']) {
      expect(await fusion(['tenants', 'create', tenant], env)).toMatchObject({ code: 0 })
      expect(await fusion(['seed', '--tenant', tenant, '--users', '10'], env)).toMatchObject({ code: 0 })
    }
    const events = `SELECT count(*), max(id) AS last, md5(string_agg(event::text, ',' ORDER BY tenant_app_id, id)) FROM event`
    const [before] = await rowsOf(events)
    expect(Number(before?.['count'])).toBeGreaterThan(100)
    expect(await distribute(...withNodes())).toMatchObject({ code: 0, stdout: expect.stringContaining('as before') })
    expect(await rowsOf(events)).toEqual([before])
    expect(await rowsOf(`SELECT pg_relation_size('event') AS bytes`)).toEqual([{ bytes: '0' }])
    await run(urlOf(), `UPDATE "user" SET name = 'another'`)
    const [first] = await rowsOf(`SELECT min(id) AS id, count(*)::integer FROM event WHERE type = 'USER_UPDATED'`)
    expect(String(first?.['id']) > String(before?.['last'])).toBe(true)
    expect(first?.['count']).toBe(30)
  })

  it('can be run again', async () => {
    expect(await distribute(...withNodes())).toMatchObject({ code: 0, stdout: 'All tables are distributed.\n' })
  })

  it('leaves a database that is not partitioned', async () => {
    const refused = { code: 1, stderr: expect.stringContaining('a distributed database') }
    expect(await fusion(['migrate', 'partition'], env)).toMatchObject(refused)
  })
})

describe.skipIf(!serverUrl)('serve and work', () => {
  it('accept a database that migrate distribute has distributed', async () => {
    expect((await fusion(['serve'], env)).stderr).toContain('nowhere.invalid')
  })

  it('accept it at each node, where commands that change it name the coordinator', async () => {
    for (const node of nodes) {
      const atNode = { ...env, DATABASE_URL: urlOf(node) }
      expect((await fusion(['serve'], atNode)).stderr).toContain('nowhere.invalid')
      expect(await fusion(['migrate', 'status'], atNode)).toMatchObject({ code: 0 })
      const refused = { code: 1, stderr: expect.stringContaining(`the nodes know as ${new URL(urlOf()).host}`) }
      expect(await fusion(['migrate', 'distribute', '--node', node], atNode)).toMatchObject(refused)
    }
  })

  it('refuse it after Citus has moved a shard, until the command is run again', async () => {
    const [shard] = await rowsOf(`SELECT shardid::text AS id, nodename || ':' || nodeport AS node FROM citus_shards
      WHERE table_name = 'event'::regclass ORDER BY shardid LIMIT 1`)
    const [from, to] = [String(shard?.['node']), nodes.find((node) => node !== shard?.['node']) ?? '']
    const address = (node: string) => node.replace(/^(.*):(\d+)$/, `'$1', $2`)
    await run(
      urlOf(),
      `SELECT citus_move_shard_placement(${shard?.['id']}, ${address(from)}, ${address(to)}, 'block_writes')`,
    )
    for (const command of ['serve', 'work']) {
      expect(await fusion([command], env)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Citus has moved shards'),
      })
    }
    const [{ last } = {}] = await rowsOf('SELECT max(id) AS last FROM event')
    expect(await distribute()).toMatchObject({ code: 0, stdout: expect.stringContaining('greater ids on all nodes') })
    await run(urlOf(), `UPDATE "user" SET name = 'moved'`)
    const [next] = await rowsOf(`SELECT min(id) AS id, count(*)::integer FROM event WHERE id > '${last}'`)
    expect(next?.['count']).toBe(30)
    expect((await fusion(['serve'], env)).stderr).toContain('nowhere.invalid')
  })

  it('refuse a pooler, replicas, and a table that is not distributed', async () => {
    const replicas = await fusion(['serve'], { ...env, DATABASE_REPLICA_URLS: urlOf() })
    expect(replicas.stderr).toContain('DATABASE_REPLICA_URLS is not supported')
    const pooler = await fusion(['serve'], { ...env, DATABASE_DIRECT_URL: urlOf() })
    expect(pooler.stderr).toContain('(DATABASE_DIRECT_URL) is not supported')
    await run(urlOf(), 'ALTER TABLE field_usage DROP CONSTRAINT field_usage_tenant_app_id_fkey')
    await run(urlOf(), "SELECT undistribute_table('field_usage')")
    const missing = await fusion(['work'], env)
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('not field_usage') })
  })
})
