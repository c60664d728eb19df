import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { hasServer, isDistributed } from '../support/postgresql.ts'
import { type Asked, allOf, ask, createPeople, paths, writes } from './kinds-of-writes.ts'

// After each kind of write by SQL, everything that was kept equals what is read. Citus refuses many of these writes.

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ responseCacheBytes: 16 * 1024 * 1024, keyCacheMilliseconds: 60_000 })
})
afterAll(() => app.close())

const hit = 'fusion; hit'

describe.skipIf(isDistributed)('what was kept equals what is read after', () => {
  let asked: Asked[]
  let initial: Awaited<ReturnType<typeof ask>>
  let restore: string

  beforeAll(async () => {
    const { viewers } = await createPeople(app)
    const [key, ada, bea] = viewers
    // What is kept for a key depends on the models and ids of the query, and for a token on any row of its user, so a
    // token needs no query of each kind: it has the longest list, and a row of another user. writes.slow.test.ts has
    // all.
    asked = [
      ...allOf(key).filter(({ query, name }) => (query ? !/"acc_bea"/.test(name) : name === paths[0])),
      ...allOf(ada).filter(({ name }) => name.startsWith('{ users')),
      ...allOf(bea).filter(
        ({ name, query }) => JSON.stringify(query?.[1])?.includes('usr_ada') || name.startsWith('{ users'),
      ),
    ]
    restore = await readRestore()
    initial = await ask(app, asked)
    await ask(app, asked)
  })

  /** A script that makes the rows what they are now. */
  async function readRestore(): Promise<string> {
    const scripts = ['"user"', 'account', 'profile', 'email_record'].map(async (table) => {
      const [{ rows } = {}] = await app.database.prisma.$queryRawUnsafe<{ rows?: string }[]>(
        `SELECT quote_literal(json_agg(t)) AS rows FROM ${table} AS t`,
      )
      return `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, ${rows})`
    })
    return ['DELETE FROM "user"', ...(await Promise.all(scripts))].join(';')
  }

  it.each(Object.entries(writes))('%s', async (_name, script) => {
    await app.database.runAsOwner(restore)
    // Reads and keeps again what the write before has changed.
    const before = await ask(app, asked)
    expect(before.map(({ seen }) => seen)).toEqual(initial.map(({ seen }) => seen))
    const kept = await ask(app, asked)
    // Missing rows are kept too.
    expect(kept.filter(({ cacheStatus }) => cacheStatus !== hit)).toEqual([])
    await app.database.runAsOwner(script)
    const after = await ask(app, asked)
    // The others were read just now.
    const found = asked.flatMap((one, index) =>
      after[index]?.cacheStatus === hit ? [{ one, shown: after[index] }] : [],
    )
    const read = await ask(
      app,
      found.map(({ one }) => one),
      { 'cache-control': 'no-cache' },
    )
    expect(read.map(({ cacheStatus }) => cacheStatus)).not.toContain(hit)
    for (const [index, { shown }] of found.entries())
      expect({ name: shown.name, seen: shown.seen }).toEqual({ name: shown.name, seen: read[index]?.seen })
  })
})

// Without partitions, PostgreSQL rejects it.
it.skipIf(!hasServer || isDistributed)(
  'an email of a profile that its transaction does not see is shown, or rejected',
  async () => {
    const { tenant } = await createPeople(app)
    const make = factoriesFor(app, tenant)
    const session = new pg.Client({ connectionString: app.database.url })
    await session.connect()
    await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM "user"')
    const account = await make.account('usr_ada')
    const { id } = await make.profile(account)
    const query = `{ user(id: "usr_ada") { accounts { profile { emails { value } } } } }`
    const text = async () => JSON.stringify((await app.graphql(tenant, query)).data)
    for (let times = 0; times < 3; times += 1) expect(await text()).not.toContain('late')
    const insert = `INSERT INTO email_record (tenant_app_id, id, profile_id, value, updated_at) VALUES ($1, 'eml_late', $2, 'late', now())`
    const isWritten = await session.query(insert, [tenant.tenantAppId, id]).then(
      () => true,
      () => false,
    )
    await session.query('COMMIT')
    await session.end()
    expect((await text()).includes('late')).toBe(isWritten)
    expect(isWritten).toBe(process.env['TEST_PARTITIONS'] !== undefined)
  },
)
