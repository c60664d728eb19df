import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connectDirectly } from '../memory/direct-sql.ts'
import { createTenants, tokensOf } from '../memory/people.ts'
import { runChecker } from '../memory/run-checker.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { fusion } from '../support/cli.ts'
import { factoriesFor } from '../support/factories.ts'
import { adminUrl, isDistributed, runAsAdminOn } from '../support/postgresql.ts'
import { nodeOf, otherNodeOf } from './nodes.ts'

let app: TestApp
let name: string
let tenant: TestTenant

beforeAll(async () => {
  if (!isDistributed) return
  app = await startTestApp({ keyCacheMilliseconds: 60_000, responseCacheBytes: 0 })
  name = new URL(String(app.database.url)).pathname.slice(1)
  tenant = await app.createTenant()
})
afterAll(() => app?.close())

const query = '{ users { nodes { id name accounts { id displayName profile { username } } } } }'

interface Users {
  readonly users: { readonly nodes: readonly { readonly id: string; readonly accounts: readonly unknown[] }[] }
}

async function readUsers(): Promise<Users['users']['nodes']> {
  const { data, errors } = await app.graphql<Users>(tenant, query)
  expect(errors).toBeUndefined()
  return data?.users.nodes ?? []
}

async function move(tenantName: string, to: string): Promise<void> {
  const moved = await fusion(['migrate', 'move', '--tenant', tenantName, '--to', to], { DATABASE_URL: adminUrl(name) })
  expect(moved).toMatchObject({ code: 0, stderr: '' })
}

/** How many sessions at the node of the tenant have last read a tree from the tables of a shard. */
async function countShardReads(): Promise<number> {
  const url = Object.assign(new URL(adminUrl(name)), { host: await nodeOf(app, tenant.tenantAppId) })
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  onTestFinished(() => client.end())
  const { rows } = await client.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'fusion-gateway'
      AND query ~ 'FROM user_\\d+ AS "user"' AND pid <> pg_backend_pid()`,
  )
  return rows.length
}

describe.skipIf(!isDistributed)('a tree', () => {
  it("is read from the tables of the tenant's shard, which Citus does not plan", async () => {
    const { user } = factoriesFor(app, tenant)
    const { id } = await user()
    expect((await readUsers()).map((one) => one.id)).toEqual([id])
    expect(await countShardReads()).toBeGreaterThan(0)
  })

  it('has what was written since its tenant has moved, before the gateway knows of it', async () => {
    for (let times = 0; times < 2; times += 1) {
      const before = await readUsers()
      await move(tenant.name, await otherNodeOf(app, tenant.tenantAppId))
      await runAsAdminOn(
        name,
        `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ('${tenant.tenantAppId}', 'usr_${times}', 'A', 'a', now())`,
      )
      expect((await readUsers()).length).toBe(before.length + 1)
    }
  }, 120_000)

  it('shows what was acknowledged before it was read, while its tenant moves', async () => {
    const address = await app.app.listen({ host: '127.0.0.1', port: 0 })
    const sql = connectDirectly(String(app.database.url))
    onTestFinished(() => sql.close())
    const tenants = await createTenants(app.database, sql, { tenants: 1, people: 6 }, tokensOf(address))
    const tenantAppId = String(tenants[0]?.tenantAppId)
    const row = await app.database.prisma.tenantApp.findFirstOrThrow({ where: { id: tenantAppId } })
    let isMoving = true
    const moveTwice = async () => {
      for (let times = 0; times < 2; times += 1) await move(row.name, await otherNodeOf(app, tenantAppId))
    }
    const moving = moveTwice().finally(() => {
      isMoving = false
    })
    let after: number | undefined
    const checking = runChecker({
      places: [{ address, sees: 'the database' }],
      sql,
      tenants,
      readers: 4,
      writers: 2,
      seed: 1,
      readsPerWrite: 30,
      isOver({ reads }) {
        if (!isMoving) after ??= reads
        return after !== undefined && reads > after + 1_000
      },
      mayFail: () => isMoving,
    })
    await moving
    const { problems, ...counts } = await checking
    if (problems.length > 0) expect.fail(problems.join('\n'))
    expect(counts).toMatchObject({ stale: 0, wrong: 0 })
  }, 180_000)
})
