import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { fusion, startGateway } from '../support/cli.ts'
import { adminUrl, isDistributed, nodes, run, runAsAdminOn } from '../support/postgresql.ts'
import { followFeed } from './load.ts'
import { createTenantOn, nodeOf, otherNodeOf } from './nodes.ts'

let app: TestApp
let name: string
/** A tenant, and one on the node to which it moves. */
let tenant: TestTenant
let neighbour: TestTenant

beforeAll(async () => {
  if (!isDistributed) return
  app = await startTestApp()
  name = new URL(String(app.database.url)).pathname.slice(1)
  const [from, to] = nodes as [string, string]
  tenant = await createTenantOn(app, from)
  neighbour = await createTenantOn(app, to)
})
afterAll(() => app?.close())

async function connect(connectionString = String(app.database.url), application_name = 'test'): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, application_name })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.end().catch(() => undefined))
  return client
}

const insert = `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, $2, 'A', 'a', now())`
const write = (client: pg.Client, { tenantAppId }: TestTenant, id: string) => client.query(insert, [tenantAppId, id])

const move = (...args: string[]) => fusion(['migrate', 'move', ...args], { DATABASE_URL: adminUrl(name) })
const moveTo = (to: string, ...args: string[]) => move('--tenant', tenant.name, '--to', to, ...args)

/** The placements of shards that processes accept. */
async function readNote(): Promise<string[]> {
  const [row] = await app.database.prisma.$queryRaw<{ note: string }[]>`
    SELECT obj_description('event_state'::regclass, 'pg_class') AS note`
  return row?.note.split(' ').slice(1) ?? []
}

/** The resources of events, in the order of the log. */
async function resourcesOf(ids: readonly string[]): Promise<string[]> {
  const events = await app.database.prisma.event.findMany({ where: { id: { in: [...ids] } }, orderBy: { id: 'asc' } })
  return events.map(({ resourceId }) => resourceId)
}

describe.skipIf(!isDistributed)('migrate move', () => {
  it.each([
    ['a tenant that is missing', ['--tenant', 'Missing', '--to', 'x:1'], 'No tenant has the name Missing'],
    [
      'a node that is missing',
      ['--tenant', 'Tenant 1', '--to', 'nowhere:1'],
      'nowhere:1 is not a node that has shards',
    ],
    ['a text that is no address', ['--tenant', 'Tenant 1', '--to', 'nowhere'], 'Give a host and a port'],
  ])('names %s', async (_, args, problem) => {
    expect(await move(...args)).toMatchObject({ code: expect.any(Number), stderr: expect.stringContaining(problem) })
    expect((await move(...args)).code).not.toBe(0)
  })

  it('leaves a tenant that is there', async () => {
    const node = await nodeOf(app, tenant.tenantAppId)
    expect(await moveTo(node)).toEqual({ code: 0, stdout: `${tenant.name} is on ${node}.\n`, stderr: '' })
  })

  it('waits for transactions of the other node, and no event of theirs is missed', async () => {
    const reader = await followFeed(app, neighbour)
    const [early, late] = [await connect(), await connect()]
    await early.query('BEGIN')
    await write(early, neighbour, 'usr_early')
    await write(late, neighbour, 'usr_late')
    const moving = moveTo(await otherNodeOf(app, tenant.tenantAppId))
    const raised = `SELECT result FROM run_command_on_all_nodes('SELECT count(since) FROM event_raise') WHERE result = '1'`
    await expect.poll(() => app.database.prisma.$queryRawUnsafe(raised)).toHaveLength(1)
    await write(late, neighbour, 'usr_after_raise')
    // The feed reads again within half a second.
    await sleep(700)
    expect(reader.received).toEqual([])
    await write(early, neighbour, 'usr_early_again')
    await early.query('COMMIT')
    expect(await moving).toMatchObject({ code: 0, stderr: '' })
    await expect.poll(() => reader.received.length).toBe(4)
    expect(await resourcesOf(reader.received)).toEqual(['usr_early', 'usr_late', 'usr_early_again', 'usr_after_raise'])
    reader.stop()
  })

  it('can be run again when its session was killed', async () => {
    const to = await otherNodeOf(app, tenant.tenantAppId)
    const moving = moveTo(to)
    const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE '%citus_move_shard_placement%' AND pid <> pg_backend_pid()`
    const admin = await connect(adminUrl(name))
    await expect.poll(async () => (await admin.query(kill)).rows).toHaveLength(1)
    expect(await moving).toMatchObject({ code: 1, stderr: expect.stringContaining('safe to run the command again') })
    expect(await moveTo(to)).toMatchObject({ code: 0, stderr: '' })
    expect(await nodeOf(app, tenant.tenantAppId)).toBe(to)
  })

  it('names the tenants that move too', async () => {
    const shardOf = `get_shard_id_for_distribution_column('event', $1::text)`
    const isWith = async ({ tenantAppId }: TestTenant) => {
      const rows = `SELECT ${shardOf} = ${shardOf.replace('$1', '$2')} AS same`
      const [row] = await app.database.prisma.$queryRawUnsafe<{ same: boolean }[]>(
        rows,
        tenant.tenantAppId,
        tenantAppId,
      )
      return row?.same === true
    }
    let other = await app.createTenant()
    while (!(await isWith(other))) other = await app.createTenant()
    const to = await otherNodeOf(app, tenant.tenantAppId)
    expect((await moveTo(to)).stdout).toContain(other.name)
    expect(await nodeOf(app, other.tenantAppId)).toBe(to)
  })

  it('lets a gateway go on, which stops when Citus moves shards by itself', async () => {
    const gateway = await startGateway({ DATABASE_URL: adminUrl(name) })
    const closed = new Promise<number | null>((resolve) => gateway.child.once('close', resolve))
    onTestFinished(() => void gateway.child.kill('SIGKILL'))
    const moving = moveTo(await otherNodeOf(app, tenant.tenantAppId))
    // The gateway accepts the present placement and the planned one.
    await expect.poll(readNote).toHaveLength(2)
    const [, planned] = await readNote()
    expect(await moving).toMatchObject({ code: 0, stderr: '' })
    expect(await readNote()).toEqual([planned])
    // It looks every five seconds.
    await sleep(6_000)
    expect(gateway.child.exitCode).toBeNull()
    const [from, to] = [await nodeOf(app, tenant.tenantAppId), await otherNodeOf(app, tenant.tenantAppId)]
    const address = (node: string) => node.replace(/^(.*):(\d+)$/, `'$1', $2`)
    const shard = `get_shard_id_for_distribution_column('event', '${tenant.tenantAppId}')`
    await runAsAdminOn(
      name,
      `SELECT citus_move_shard_placement(${shard}, ${address(from)}, ${address(to)}, 'block_writes')`,
    )
    expect(await closed).toBe(1)
    expect(gateway.output()).toContain('shards were moved')
  })
})

describe.skipIf(!isDistributed)('a transaction that is prepared on a node', () => {
  it('keeps later events from being read until Citus has committed it', async () => {
    const reader = await followFeed(app, neighbour)
    const node = await nodeOf(app, neighbour.tenantAppId)
    const url = new URL(adminUrl(name))
    url.host = node
    // As Citus itself does, for a transaction over several nodes whose session has ended meanwhile.
    const session = await connect(url.href, 'citus_internal gpid=10000000001')
    const gid = `citus_0_1_${Date.now()}_0`
    await session.query('BEGIN')
    const [{ shard } = { shard: '' }] = await app.database.prisma.$queryRawUnsafe<{ shard: string }[]>(
      `SELECT 'user_' || get_shard_id_for_distribution_column('"user"', $1::text) AS shard`,
      neighbour.tenantAppId,
    )
    await session.query(insert.replace('"user"', shard), [neighbour.tenantAppId, 'usr_prepared'])
    await session.query(`PREPARE TRANSACTION '${gid}'`)
    // One that stays would hold up every test on the server.
    onTestFinished(() => run(url.href, `ROLLBACK PREPARED '${gid}'`).catch(() => undefined))
    await session.end()
    await write(await connect(), neighbour, 'usr_after_prepared')
    await sleep(700)
    expect(reader.received).toEqual([])
    await runAsAdminOn(
      name,
      `INSERT INTO pg_dist_transaction (groupid, gid) SELECT groupid, '${gid}' FROM pg_dist_node WHERE nodename || ':' || nodeport = '${node}'`,
    )
    await runAsAdminOn(name, 'SELECT recover_prepared_transactions()')
    await expect.poll(() => reader.received.length).toBe(2)
    expect(await resourcesOf(reader.received)).toEqual(['usr_prepared', 'usr_after_prepared'])
    reader.stop()
  })
})
