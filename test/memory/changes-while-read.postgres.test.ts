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
  const lists = '{ users(first: 5) { nodes { name } } searchProfiles(first: 5) { nodes { emails { id } } } }'
  const one = `{ user(id: "${user.id}") { name } }`
  for (const query of [lists, one, one]) await app.graphql(tenant, query)

  // The emails wait for the lock, and the users have been read.
  const session = new pg.Client({ connectionString: app.database.url })
  await session.connect()
  await session.query('BEGIN; LOCK TABLE email_record IN ACCESS EXCLUSIVE MODE')
  const slow = app.graphql(tenant, lists)
  const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'email_record'::regclass`
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

// The event of a profile or an email names the user whom the account had when the transaction looked.
it.each([
  [
    'an account',
    'UPDATE account SET user_id = $1 WHERE user_id = $2',
    'UPDATE profile SET username = $1 WHERE id = $2',
  ],
  [
    'an account, in a transaction that sees the former user',
    'UPDATE account SET user_id = $1 WHERE user_id = $2',
    'UPDATE email_record SET value = $1 WHERE profile_id = $2',
    'REPEATABLE READ',
  ],
])(
  'a kept response of a user who has got %s is read again after a change that began before',
  async (...[_what, move, change, level = 'READ COMMITTED']) => {
    const { user: former, profile } = await createOneOfEach(app, tenant)
    const { user } = await createOneOfEach(app, tenant)
    const query = `{ user(id: "${user.id}") { accounts { profile { username emails { value } } } } }`
    const text = async () => JSON.stringify((await app.graphql(tenant, query)).data)
    const session = new pg.Client({ connectionString: app.database.url })
    await session.connect()
    await session.query(`BEGIN ISOLATION LEVEL ${level}`)
    await session.query(change, ['late', profile.id])
    await app.database.prisma.$executeRawUnsafe(move, user.id, former.id)
    for (let times = 0; times < 3; times += 1) expect(await text()).not.toContain('late')
    await session.query('COMMIT')
    await session.end()
    expect(await text()).toContain('late')
  },
)
