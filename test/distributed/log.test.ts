import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { fusion } from '../support/cli.ts'
import { adminUrl, isDistributed, runAsAdminOn } from '../support/postgresql.ts'
import { followFeed, followSocket, type Reader, startWriters, writerName } from './load.ts'
import { otherNodeOf } from './nodes.ts'

let app: TestApp
let name: string
let tenants: TestTenant[]

beforeAll(async () => {
  if (!isDistributed) return
  app = await startTestApp()
  name = new URL(String(app.database.url)).pathname.slice(1)
  tenants = []
  for (let count = 0; count < 12; count += 1) tenants.push(await app.createTenant())
})
afterAll(() => app?.close())

const admin = (sql: string) => runAsAdminOn(name, sql)

const rowsOf = <Row>(sql: string, ...values: unknown[]) => app.database.prisma.$queryRawUnsafe<Row[]>(sql, ...values)

/** Ends sessions of writers, and what Citus has opened on nodes for writers and gateways, until it is stopped. */
function startKilling(): () => Promise<void> {
  let isOver = false
  const kill = async () => {
    while (!isOver) {
      await sleep(200)
      await admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = '${name}' AND application_name = '${writerName}' ORDER BY random() LIMIT 1`)
      await admin(`SELECT run_command_on_workers(format($$SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
          WHERE application_name = 'citus_internal gpid=%s'$$, citus_calculate_gpid(citus_coordinator_nodeid(), pid)))
        FROM pg_stat_activity WHERE datname = '${name}' AND application_name <> 'fusion-gateway-migrations' ORDER BY random() LIMIT 2`)
    }
  }
  const killing = kill()
  return async () => {
    isOver = true
    await killing
  }
}

/** Moves a tenant to the node on which it is not. */
async function move({ name: tenant, tenantAppId }: TestTenant): Promise<void> {
  const to = await otherNodeOf(app, tenantAppId)
  const ended = await fusion(['migrate', 'move', '--tenant', tenant, '--to', to], { DATABASE_URL: adminUrl(name) })
  expect(ended).toMatchObject({ stderr: '', code: 0, stdout: expect.stringContaining(`to ${to}`) })
}

const idsOf = async (tenantAppId: string) =>
  (await rowsOf<{ id: string }>('SELECT id FROM event WHERE tenant_app_id = $1 ORDER BY id', tenantAppId)).map(
    ({ id }) => id,
  )

/** Waits until no prepared transaction is left: Citus commits or undoes those of killed sessions. */
async function recover(): Promise<void> {
  await expect
    .poll(async () => {
      await admin('SELECT recover_prepared_transactions()')
      const left = await rowsOf<{ result: string }>(
        `SELECT result FROM run_command_on_all_nodes('SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()')`,
      )
      return left.map(({ result }) => result)
    })
    .toEqual(['0', '0', '0'])
}

/** Compares what a reader has received with the log of its tenant, in order. */
async function compare({ tenantAppId, received }: Reader) {
  const log = await idsOf(tenantAppId)
  const known = new Set(received)
  return {
    log: log.length,
    missed: log.filter((id) => !known.has(id)).length,
    twice: received.length - known.size,
    isInOrder: received.every((id, index) => index === 0 || id > String(received[index - 1])),
    unknown: received.filter((id) => !log.includes(id)).length,
  }
}

describe.skipIf(!isDistributed)('the log of a distributed database', () => {
  it('has no gap for readers while sessions are killed and tenants move to other nodes and back', async () => {
    const [first, second] = tenants as [TestTenant, TestTenant]
    const feeds = await Promise.all(tenants.map((tenant) => followFeed(app, tenant)))
    const readers = [...feeds, await followSocket(app, first), await followSocket(app, second)]
    const writers = startWriters(String(app.database.url), tenants, 16)
    const stopKilling = startKilling()
    onTestFinished(() => {
      for (const reader of readers) reader.stop()
    })
    try {
      await sleep(2_000)
      for (const tenant of [first, first]) await move(tenant)
      await sleep(2_000)
    } finally {
      await stopKilling()
      await writers.stop()
    }
    await recover()
    const results = async () => Promise.all(readers.map(compare))
    await expect.poll(async () => (await results()).reduce((sum, { missed }) => sum + missed, 0)).toBe(0)
    expect(await results()).toEqual(
      readers.map(() => ({ log: expect.any(Number), missed: 0, twice: 0, isInOrder: true, unknown: 0 })),
    )
    for (const count of Object.values(writers.ended)) expect(count).toBeGreaterThan(10)
  })
})
