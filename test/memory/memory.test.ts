import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { connectDirectly, type DirectSql, shareSession } from './direct-sql.ts'
import { createTenants, type Tenant, tokensOf } from './people.ts'
import { runChecker } from './run-checker.ts'

let app: TestApp
let sql: DirectSql
let tenants: Tenant[]
let address: string

beforeAll(async () => {
  app = await startTestApp({ keyCacheMilliseconds: 60_000, responseCacheBytes: 64 * 1024 * 1024 })
  address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const { database } = app
  sql = database.url === undefined ? shareSession(database) : connectDirectly(database.url)
  tenants = await createTenants(database, sql, { tenants: 2, people: 6 }, tokensOf(address))
})
afterAll(async () => {
  await sql.close()
  await app.close()
})

it('a read shows what was acknowledged before it was sent, by whomever it was written', async () => {
  const reads = 3_000
  const { problems, ...counts } = await runChecker({
    places: [{ address, sees: 'the database' }],
    sql,
    tenants,
    readers: 8,
    writers: 4,
    seed: 1,
    readsPerWrite: 30,
    isOver: (so) => so.reads >= reads,
  })
  if (problems.length > 0) expect.fail(problems.join('\n'))
  expect(counts).toMatchObject({ stale: 0, wrong: 0, failed: 0 })
  expect(counts.writes).toBeGreaterThan(100)
  expect(counts.hits).toBeGreaterThan(200)
})
