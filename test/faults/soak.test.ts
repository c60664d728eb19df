import { describe, expect, it } from 'vitest'
import { runSoak } from '../soak/run-soak.ts'
import { canMakeClusters } from '../support/cluster.ts'

describe.skipIf(!canMakeClusters)('some seconds of what `npm run test:soak` does for minutes', () => {
  it('find tenants kept apart, every request answered, and nothing that piles up', async () => {
    const size = { seconds: 5, shapes: 150, warmingRounds: 6, maxGrowth: 0.2, tenants: 10, clients: 8 }
    const { problems, ...counts } = await runSoak({ ...size, say: () => undefined })
    expect(problems).toEqual([])
    // Nothing is wrong where nothing was asked.
    expect(counts.marked).toBeGreaterThan(200)
    expect(counts.aborted).toBeGreaterThan(0)
    expect(counts.kills).toBeGreaterThan(0)
  })
})
