import { describe, expect, it } from 'vitest'
import { canCreateClusters } from '../support/cluster.ts'
import { hasPgBouncer } from '../support/pgbouncer.ts'
import { checkSystem } from './check-system.ts'

describe.skipIf(!canCreateClusters || !hasPgBouncer)('a short run of `npm run suite -- memory`', () => {
  it('finds no read and no live query that is out of date, with a restart, a failover, a restored backup and a move of the rows', async () => {
    const options = { seconds: 20, reads: 3_000, followers: 16, seed: 1, print: () => undefined }
    const { problems, live, ...counts } = await checkSystem(options)
    if (problems.length > 0) expect.fail(problems.join('\n'))
    expect(counts).toMatchObject({ stale: 0, wrong: 0 })
    expect(counts.hits).toBeGreaterThan(300)
    expect(live.results).toBeGreaterThan(100)
  })
})
