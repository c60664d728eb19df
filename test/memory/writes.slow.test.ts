import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { isDistributed } from '../support/postgresql.ts'
import { allOf, ask, createPeople, withEqualIds, writes } from './kinds-of-writes.ts'

// After each kind of write by SQL, everything that was kept for any viewer equals what is read. Citus refuses many of
// these writes.

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ responseCacheBytes: 16 * 1024 * 1024, keyCacheMilliseconds: 60_000 })
})
afterAll(() => app.close())

// Rows of different types can have the same id: what knows one by its id alone takes one for the other.
describe.skipIf(isDistributed).each([
  ['ids of each type', (text: string) => text],
  ['equal ids of all types', withEqualIds],
])('with %s, what was kept equals what is read after', (_ids, named) => {
  it.each(Object.entries(writes))('%s', async (_name, script) => {
    await app.database.runAsOwner('DELETE FROM "user"')
    const { viewers } = await createPeople(app, named)
    const all = viewers.flatMap((viewer) => allOf(viewer, named))
    const before = await ask(app, all)
    await ask(app, all)
    const kept = await ask(app, all)
    // Missing rows are kept too, and errors are not: the accounts of another user.
    expect(kept.filter(({ cacheStatus }) => cacheStatus === 'fusion; hit').length).toBeGreaterThan(30)
    expect(kept.map(({ seen }) => seen)).toEqual(before.map(({ seen }) => seen))
    await app.database.runAsOwner(named(script))
    const after = await ask(app, all)
    const read = await ask(app, all, { 'cache-control': 'no-cache' })
    expect(read.map(({ cacheStatus }) => cacheStatus)).not.toContain('fusion; hit')
    for (const [index, { name, seen }] of after.entries())
      expect({ name, seen }).toEqual({ name, seen: read[index]?.seen })
  })
})
