import { expect } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { connectDirectly, shareSession } from './direct-sql.ts'
import { startFollowers } from './followers.ts'
import { createTenants, tokensOf } from './people.ts'
import { type Counts, runChecker } from './run-checker.ts'

/**
 * Runs the checker on a gateway of this process until there were so many reads, while live queries are followed. None
 * may show what is out of date.
 */
export async function checkGateway(reads: number, count: number): Promise<Counts & { readonly results: number }> {
  const app = await startTestApp({ keyCacheMilliseconds: 60_000, responseCacheBytes: 64 * 1024 * 1024 })
  const address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const { database } = app
  const sql = database.url === undefined ? shareSession(database) : connectDirectly(database.url)
  const places = [{ address, sees: 'the database' }]
  try {
    const tenants = await createTenants(database, sql, { tenants: 2, people: 6 }, tokensOf(address))
    const followers = startFollowers({ places, tenants, count, seed: 1 })
    const { problems, ...counts } = await runChecker({
      places,
      sql,
      database,
      tenants,
      readers: 8,
      writers: 4,
      seed: 1,
      readsPerWrite: 30,
      isOver: (so) => so.reads >= reads,
    })
    await followers.settle()
    const live = await followers.end()
    const all = [...problems, ...live.problems]
    if (all.length > 0) expect.fail(all.join('\n'))
    expect({ ...counts, ...live }).toMatchObject({ stale: 0, wrong: 0, failed: 0, badResults: 0 })
    return { ...counts, results: live.results }
  } finally {
    await sql.close()
    await app.close()
  }
}
