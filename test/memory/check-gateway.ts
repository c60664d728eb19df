import { expect } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { connectDirectly, shareSession } from './direct-sql.ts'
import { createTenants, tokensOf } from './people.ts'
import { type Counts, runChecker } from './run-checker.ts'

/** Runs the checker on a gateway of this process until there were so many reads. None may show what is out of date. */
export async function checkGateway(reads: number): Promise<Counts> {
  const app = await startTestApp({ keyCacheMilliseconds: 60_000, responseCacheBytes: 64 * 1024 * 1024 })
  const address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const { database } = app
  const sql = database.url === undefined ? shareSession(database) : connectDirectly(database.url)
  try {
    const { problems, ...counts } = await runChecker({
      places: [{ address, sees: 'the database' }],
      sql,
      tenants: await createTenants(database, sql, { tenants: 2, people: 6 }, tokensOf(address)),
      readers: 8,
      writers: 4,
      seed: 1,
      readsPerWrite: 30,
      isOver: (so) => so.reads >= reads,
    })
    if (problems.length > 0) expect.fail(problems.join('\n'))
    expect(counts).toMatchObject({ stale: 0, wrong: 0, failed: 0 })
    return counts
  } finally {
    await sql.close()
    await app.close()
  }
}
