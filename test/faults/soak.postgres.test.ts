import { describe, expect, it } from 'vitest'
import { runSoak } from '../soak/run-soak.ts'
import { canCreateClusters } from '../support/cluster.ts'

describe.skipIf(!canCreateClusters)('a short run of `npm run suite -- soak`', () => {
  it('finds no rows of other tenants, no unanswered requests and no leaks', async () => {
    const size = { seconds: 5, shapes: 150, warmUpRounds: 6, maxGrowth: 0.2, tenants: 10, clients: 8 }
    const { problems, ...counts } = await runSoak({ ...size, print: () => undefined })
    expect(problems).toEqual([])
    // The run has sent requests, aborted some and killed connections.
    expect(counts.marked).toBeGreaterThan(200)
    expect(counts.aborted).toBeGreaterThan(0)
    expect(counts.kills).toBeGreaterThan(0)
  })
})
