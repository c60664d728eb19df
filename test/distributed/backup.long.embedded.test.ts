import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fusion } from '../support/cli.ts'
import { type Cluster, createCluster, freePort } from '../support/cluster.ts'
import { readBlocks } from '../support/docs.ts'
import { type ListeningGateway, listen } from '../support/gateway.ts'
import { migrate, roleOf } from '../support/migrate.ts'
import { type CitusServers, canCreateCitus, createCitusServers, distribute } from './citus-servers.ts'

// The servers are those of the test, because it restores them. TEST_CITUS_URL says that Citus is to be tested.
describe.skipIf(!process.env['TEST_CITUS_URL'] || !canCreateCitus)('a distributed database', () => {
  let archives: string
  const archiveOf = (number: number) => path.join(archives, String(number))
  const keys: string[] = []
  let servers: CitusServers
  let gateway: ListeningGateway

  beforeAll(async () => {
    archives = mkdtempSync(path.join(tmpdir(), 'fusion-archives-'))
    chmodSync(archives, 0o777)
    servers = await createCitusServers(2, (number) => ({
      archive_mode: 'on',
      archive_command: `'mkdir -p ${archiveOf(number)} && cp %p ${archiveOf(number)}/%f'`,
    }))
    const { coordinator } = servers
    keys.push((await distribute(servers, 8)).key)
    const env = { DATABASE_URL: coordinator.adminUrl }
    // Twelve tenants are on both nodes.
    for (let number = 1; number < 12; number += 1) {
      expect(await fusion(['tenants', 'create', `Tenant ${number}`], env)).toMatchObject({ code: 0 })
      keys.push((await fusion(['keys', 'create', '--tenant', `Tenant ${number}`], env)).stdout.trim())
    }
    gateway = await listen(coordinator.url)
  }, 120_000)
  afterAll(async () => {
    await gateway?.close()
    await servers?.remove()
    rmSync(archives, { recursive: true })
  })

  /** Writes a user of each tenant. */
  async function write({ address }: ListeningGateway, name: string): Promise<void> {
    for (const key of keys) {
      const headers = { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': name }
      const body = JSON.stringify({ name, email: 'a@example.com', phone: '1' })
      expect((await fetch(`${address}/users`, { method: 'POST', headers, body })).status).toBe(201)
    }
  }

  /** The names of the users of each tenant. */
  function readNames({ address }: ListeningGateway): Promise<string[][]> {
    return Promise.all(
      keys.map(async (key) => {
        const response = await fetch(`${address}/users?limit=10`, { headers: { 'x-api-key': key } })
        return ((await response.json()) as { users: { name: string }[] }).users.map(({ name }) => name)
      }),
    )
  }

  const ofAll = (...names: string[]) => keys.map(() => names)

  it('is restored to one point by the commands of docs/scaling.md', async () => {
    const { coordinator, all } = servers
    const blocks = readBlocks('docs/scaling.md', 'Citus').map(({ code }) => code)
    const command = (text: string) => blocks.find((code) => code.includes(text)) ?? 'false'
    const backup = readBlocks('docs/operating.md', 'Backups').find(({ code }) => code.includes('pg_basebackup'))

    await write(gateway, 'before-the-backup')
    for (const { adminUrl, runScript } of all) await runScript(backup?.code ?? 'false', { DATABASE_URL: adminUrl })
    await write(gateway, 'before-the-point')
    await coordinator.runScript(command('citus_create_restore_point'), {
      DATABASE_URL: coordinator.adminUrl,
      POINT: 'nightly',
    })
    await write(gateway, 'after-the-point')
    for (const server of all) await archived(server)

    const restored = await Promise.all(all.map(restoredOn))
    for (const [number, server] of all.entries()) {
      const port = restored[number]?.port ?? ''
      await server.runScript(command('recovery_target_name'), {
        ARCHIVE: archiveOf(number),
        POINT: 'nightly',
        PORT: port,
      })
      onTestFinished(() => server.runScript('pg_ctl stop --pgdata=restored --mode=immediate --silent', {}))
    }
    for (const [number, server] of all.entries()) {
      const RESTORED_URL = restored[number]?.adminUrl ?? ''
      for (const [group, { port }] of restored.entries()) {
        const of = { NODE_HOST: '127.0.0.1', NODE_PORT: port, GROUP: String(group) }
        await server.runScript(command('UPDATE pg_dist_node'), { RESTORED_URL, ...of })
      }
    }
    await coordinator.runScript(command('recover_prepared_transactions'), { RESTORED_URL: restored[0]?.adminUrl ?? '' })

    const again = await listen(restored[0]?.url ?? '')
    onTestFinished(() => again.close())
    expect(await readNames(again)).toEqual(ofAll('before-the-backup', 'before-the-point'))
    await write(again, 'after-the-restore')
    expect(await readNames(again)).toEqual(ofAll('before-the-backup', 'before-the-point', 'after-the-restore'))
    // The servers from which the backups are go on by themselves.
    expect(await readNames(gateway)).toEqual(ofAll('before-the-backup', 'before-the-point', 'after-the-point'))
  }, 180_000)

  it('goes back to one server by the commands of docs/scaling.md', async () => {
    const { coordinator } = servers
    const commands = readBlocks('docs/scaling.md', 'Citus').find(({ code }) => code.includes('rows.dump'))
    const one = await createCluster()
    onTestFinished(() => one.remove())
    await migrate(one.ownerUrl, roleOf(one.url))
    const events = 'SELECT count(*)::integer, max(id) AS last FROM event'
    const before = await rowOf<Log>(coordinator, events)
    await coordinator.runScript(commands?.code ?? 'false', {
      DATABASE_URL: coordinator.adminUrl,
      MOVED_DATABASE_URL: one.adminUrl,
    })
    expect(await rowOf<Log>(one, events)).toEqual(before)
    const moved = await listen(one.url)
    onTestFinished(() => moved.close())
    expect(await readNames(moved)).toEqual(await readNames(gateway))
    await write(moved, 'after-the-move')
    const after = await rowOf<Log>(one, events)
    expect(after.count).toBe(before.count + keys.length)
    const later = await rowOf<Log>(one, `${events} WHERE id > '${before.last}'`)
    expect(later.count).toBe(keys.length)
  }, 120_000)
})

/** How many events the log has, and the id of the last one. */
interface Log {
  readonly count: number
  readonly last: string
}

/** The URLs of a server that will be restored next to the one that it was. */
async function restoredOn({ url, adminUrl }: Cluster) {
  const port = String(await freePort())
  const on = (of: string) => Object.assign(new URL(of), { port }).href
  return { port, url: on(url), adminUrl: on(adminUrl) }
}

/** Waits until all that a server has written is in its archive. */
async function archived(server: Cluster): Promise<void> {
  const { file } = await rowOf<{ file: string }>(server, 'SELECT pg_walfile_name(pg_switch_wal()) AS file')
  const isArchived = async () => {
    const sql = `SELECT last_archived_wal >= '${file}' AS done FROM pg_stat_archiver`
    return (await rowOf<{ done: boolean }>(server, sql)).done
  }
  await expect.poll(isArchived, { timeout: 30_000 }).toBe(true)
}

/** The first row of the result of a statement. */
async function rowOf<Row extends pg.QueryResultRow>({ adminUrl }: Cluster, sql: string): Promise<Row> {
  const session = new pg.Client({ connectionString: adminUrl })
  await session.connect()
  try {
    return (await session.query<Row>(sql)).rows[0] as Row
  } finally {
    await session.end()
  }
}
