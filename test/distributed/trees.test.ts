import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { adminUrl, isDistributed, runAsAdminOn } from '../support/postgresql.ts'
import { checkWhileMoving, moveTenant } from './check-while-moving.ts'
import { nodeOf } from './nodes.ts'

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
      await moveTenant(app, tenant.tenantAppId)
      await runAsAdminOn(
        name,
        `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ('${tenant.tenantAppId}', 'usr_${times}', 'A', 'a', now())`,
      )
      expect((await readUsers()).length).toBe(before.length + 1)
    }
  }, 120_000)

  it('shows what was acknowledged before it was read, while its tenant moves', async () => {
    await checkWhileMoving(app)
  }, 180_000)
})
