import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp({ responseCacheBytes: 1024 * 1024 })
  tenant = await app.createTenant()
})
afterAll(() => app.close())

it('a response is not kept if its rows changed while it was read, and another request has asked the log since', async () => {
  const { user } = await createOneOfEach(app, tenant)
  const lists = '{ users(first: 5) { nodes { name } } accounts(first: 5) { nodes { id } } }'
  const one = `{ user(id: "${user.id}") { name } }`
  for (const query of [lists, one, one]) await app.graphql(tenant, query)

  // The accounts wait for the lock, and the users have been read.
  const session = new pg.Client({ connectionString: app.database.url })
  await session.connect()
  await session.query('BEGIN; LOCK TABLE account IN ACCESS EXCLUSIVE MODE')
  const slow = app.graphql(tenant, lists)
  const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'account'::regclass`
  await expect.poll(async () => (await session.query(waiting)).rowCount).toBe(1)
  await app.database.prisma.user.updateMany({ where: { id: user.id }, data: { name: 'New' } })
  expect((await app.graphql(tenant, one)).data).toEqual({ user: { name: 'New' } })
  await session.end()

  expect((await slow).data['users']).toEqual({ nodes: [{ name: user.name }] })
  expect((await app.graphql(tenant, lists)).data['users']).toEqual({ nodes: [{ name: 'New' }] })
})

it('a kept response is read again after the end of a transaction that has written before it was read', async () => {
  const { user } = await createOneOfEach(app, tenant)
  const query = `{ user(id: "${user.id}") { name } }`
  const session = new pg.Client({ connectionString: app.database.url })
  await session.connect()
  await session.query('BEGIN')
  await session.query(`UPDATE "user" SET name = 'Late' WHERE id = $1`, [user.id])
  // A later transaction moves the position beyond the number of this one.
  await createOneOfEach(app, tenant)
  const statements = () => app.statementsOf(() => app.graphql(tenant, query))
  await statements()
  await statements()
  expect((await statements()).filter((sql) => sql.includes('"user"'))).toEqual([])
  await session.query('COMMIT')
  await session.end()
  expect((await app.graphql(tenant, query)).data).toEqual({ user: { name: 'Late' } })
})
