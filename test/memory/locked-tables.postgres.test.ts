import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'

/** Long enough that requests that do not wait are faster on any machine. */
const logMilliseconds = 2_000

let app: TestApp
let tenants: TestTenant[]
let admin: pg.Client

beforeAll(async () => {
  app = await startTestApp({ responseCacheBytes: 1024 * 1024, logMilliseconds })
  tenants = await Promise.all(Array.from({ length: 6 }, () => app.createTenant()))
  admin = new pg.Client({ connectionString: app.database.url })
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await app.close()
})

/** Locks a table, as a migration that waits or that takes long does. */
async function lock(table: string): Promise<() => Promise<unknown>> {
  await admin.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  return () => admin.query('ROLLBACK')
}

async function waitsFor(table: string): Promise<number> {
  const waiting = 'SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass AND database IS NOT NULL'
  return (await admin.query(waiting, [table])).rowCount ?? 0
}

/** Creates a user, and requests it until its response is kept. Returns the query. */
async function keepUser(tenant: TestTenant) {
  const { user } = await createOneOfEach(app, tenant)
  const query = `{ user(id: "${user.id}") { name } }`
  for (let times = 0; times < 2; times += 1) await app.graphql(tenant, query)
  const request = () => app.graphql(tenant, query)
  return { request, read: () => app.statementsOf(request) }
}

const isOfUsers = (text: string) => text.includes('"user"')

it('a kept response waits for no lock of the tables that its query does not read', async () => {
  const [tenant] = tenants as [TestTenant]
  const { read } = await keepUser(tenant)
  await read()
  const unlock = await lock('account, profile, email_record')
  const statements = await read()
  expect(statements).toHaveLength(1)
  expect(statements.filter(isOfUsers)).toEqual([])
  await unlock()
  // The owners of a profile are looked up after a change of the profile.
  await app.database.prisma.profile.updateMany({ data: { username: 'new' } })
  expect(await read()).toContainEqual(expect.stringContaining('profile'))
})

it('a log that is locked holds up the requests that wait for it once, over two connections, and later ones not at all', async () => {
  const kept = await Promise.all(tenants.map(keepUser))
  for (const { read } of kept) await read()
  const unlock = await lock('event')
  const readAll = () => app.statementsOf(() => Promise.all(kept.map(({ request }) => request())))
  const sent = await readAll()
  // The responses came while the checks still waited.
  const waiting = await waitsFor('event')
  expect(waiting).toBeGreaterThan(0)
  expect(waiting).toBeLessThan(3)
  expect(sent.filter(isOfUsers)).toHaveLength(kept.length)
  const startedAt = performance.now()
  expect(await readAll()).toHaveLength(kept.length)
  expect(performance.now() - startedAt).toBeLessThan(logMilliseconds)
  expect(await waitsFor('event')).toBe(waiting)
  await unlock()
})
