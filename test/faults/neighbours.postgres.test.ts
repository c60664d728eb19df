import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { attacks } from '../attacks/attacks.ts'
import { createNeighbours, type Neighbours, observeAttack, startAttacked } from '../attacks/neighbours.ts'
import type { RunningGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'

let cluster: Cluster
let neighbours: Neighbours
let gateway: RunningGateway

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  neighbours = await createNeighbours(cluster)
  // The tenant attacks many times in a minute. With points it would soon be rejected. The memory of responses is so
  // small that an attack fills its part in a second.
  gateway = await startAttacked(cluster.url, { RATE_LIMIT: '0', RESPONSE_CACHE_MIB: '1' })
})
afterAll(async () => {
  await gateway?.stop()
  await cluster?.remove()
})

// How long the others wait depends on the machine, so `npm run bench -- neighbours` measures it, with the limits that a
// gateway has by default. Here none of them may be refused: without the limits they get 503. The bound of the memory is
// half as much again as the one of the benchmark, because this gateway charges no points and goes through all attacks.
const memoryBound = 1_536

describe.skipIf(!canCreateClusters)(
  'a client is answered while the keys, tokens and users of another tenant send',
  () => {
    it.each(Object.entries(attacks))('%s', async (name, attack) => {
      const { victim, kept, health, memory } = await observeAttack(gateway, neighbours, attack, 1)
      expect(Object.keys(victim.statuses)).toEqual(['200'])
      expect(Object.keys(kept.statuses)).toEqual(['200'])
      expect(Object.keys(health.statuses)).toEqual(['200'])
      expect(memory).toBeLessThan(memoryBound)
      // Its responses stay in memory, whatever the other tenant has kept there.
      if (name.startsWith('new variables')) expect(kept.hits).toBeGreaterThan(0.9)
    })
  },
)

describe.skipIf(!canCreateClusters)("a tenant's own server is answered while the users of its tokens send", () => {
  it.each(Object.entries(attacks))('%s', async (_, attack) => {
    const { users: attackers, server } = neighbours
    const { victim } = await observeAttack(gateway, { attackers, victim: server }, attack, 1)
    expect(Object.keys(victim.statuses)).toEqual(['200'])
  })
})
