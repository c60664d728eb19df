import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { canCreateClusters, createCluster } from '../support/cluster.ts'
import { factoriesFor } from '../support/factories.ts'
import { prepare } from '../support/gateway.ts'
import { hasServer, isDistributed } from '../support/postgresql.ts'

// The position of a snapshot in the event log, from which a reader learns later whether anything has changed.

let app: TestApp
let tenant: TestTenant
beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

interface Position {
  readonly server: string
  readonly begun: string
  readonly running: string[]
}

const readPosition = 'SELECT server, begun, running FROM event_position()'

async function position(): Promise<Position> {
  const [row] = await app.database.prisma.$queryRawUnsafe<Position[]>(readPosition)
  return row as Position
}

async function eventOf(resourceId: string): Promise<string> {
  return (await app.database.prisma.event.findFirstOrThrow({ where: { resourceId }, orderBy: { id: 'desc' } })).id
}

async function connect(connectionString: string | undefined): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

const insert = `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, $2, 'A', 'a', now())`

// On a distributed database it is that of the server of a tenant.
describe.skipIf(isDistributed)('event_position()', () => {
  it('is after the events that the snapshot sees, and before those of later transactions', async () => {
    const make = factoriesFor(app, tenant)
    const before = await make.user()
    const { server, begun } = await position()
    const after = await make.user()
    expect((await eventOf(before.id)) < begun).toBe(true)
    expect((await eventOf(after.id)) > begun).toBe(true)
    expect((await position()).server).toBe(server)
  })

  it.skipIf(!hasServer)('names the transactions that run, whose events are before it and come later', async () => {
    const writer = await connect(app.database.url)
    await writer.query('BEGIN')
    await writer.query(insert, [tenant.tenantAppId, 'usr_running'])
    const ended = await factoriesFor(app, tenant).user()
    const { begun, running } = await position()
    await writer.query('COMMIT')
    const id = await eventOf('usr_running')
    expect(id < (await eventOf(ended.id))).toBe(true)
    expect((await eventOf(ended.id)) < begun).toBe(true)
    expect(running).toContain(id.slice(0, 16))
    expect((await position()).running).not.toContain(id.slice(0, 16))
  })

  it.skipIf(!hasServer)(
    'is a part of the plan of its statement, because a call would cost ten times as much',
    async () => {
      const client = await connect(app.database.url)
      const { rows } = await client.query(`EXPLAIN ${readPosition}`)
      expect(JSON.stringify(rows)).toContain('Seq Scan on event_state')
    },
  )

  // There the snapshot has no list of them.
  it.skipIf(!hasServer || !canCreateClusters)('is before the transactions that run, on a standby', async () => {
    const primary = await createCluster()
    onTestFinished(() => primary.remove())
    const { tenantAppId } = await prepare(primary)
    const standby = await primary.createReplica()
    onTestFinished(() => standby.remove())
    const [writer, other, reader] = [
      await connect(primary.adminUrl),
      await connect(primary.adminUrl),
      await connect(standby.adminUrl),
    ]
    await writer.query('BEGIN')
    await writer.query(insert, [tenantAppId, 'usr_running'])
    await other.query(insert, [tenantAppId, 'usr_ended'])
    const idOf = async (client: pg.Client, id: string) =>
      (await client.query('SELECT id FROM event WHERE resource_id = $1', [id])).rows[0]?.id as string | undefined
    await expect.poll(() => idOf(reader, 'usr_ended')).toBeTruthy()
    const { begun } = (await reader.query(readPosition)).rows[0] as Position
    await writer.query('COMMIT')
    await expect.poll(() => idOf(reader, 'usr_running')).toBeTruthy()
    expect(((await idOf(reader, 'usr_running')) ?? '') > begun).toBe(true)
  })

  it.skipIf(!hasServer || !canCreateClusters)(
    'waits for no prepared transaction of another database, and one with events cannot be prepared',
    async () => {
      // Transactions of autovacuum in the database of the log would hold the horizon.
      const cluster = await createCluster({ autovacuum: 'off', max_prepared_transactions: '2' })
      onTestFinished(() => cluster.remove())
      const { tenantAppId } = await prepare(cluster)
      const elsewhere = new URL(cluster.adminUrl)
      elsewhere.pathname = '/postgres'
      const [writer, other] = [await connect(cluster.adminUrl), await connect(elsewhere.href)]
      await other.query("BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'elsewhere'")
      await writer.query(insert, [tenantAppId, 'usr_1'])
      const horizon = async () => (await writer.query('SELECT complete = begun AS is_open FROM event_horizon()')).rows
      expect(await horizon()).toEqual([{ is_open: false }])
      expect((await writer.query('SELECT note_other_transactions() AS noted')).rows).toEqual([{ noted: true }])
      expect(await horizon()).toEqual([{ is_open: true }])
      await other.query("ROLLBACK PREPARED 'elsewhere'")
      // As if the last announcement were long ago: one that was less than 10 ms ago serves this transaction too.
      await writer.query("SELECT setval('event_announced', 1)")
      await writer.query('BEGIN')
      await writer.query(insert, [tenantAppId, 'usr_2'])
      await expect(writer.query("PREPARE TRANSACTION 'here'")).rejects.toThrow(/NOTIFY/)
    },
  )

  // The last test: sessions keep the offset with which they write.
  it('is of another log when the ids of events have another offset', async () => {
    const { server } = await position()
    await app.database.runAsOwner('UPDATE event_state SET "offset" = "offset" + 1')
    expect((await position()).server).not.toBe(server)
  })
})
