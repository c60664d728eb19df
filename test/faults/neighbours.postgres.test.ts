import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { attacks } from '../support/attacks.ts'
import type { RunningGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { createNeighbours, type Neighbours, observeAttack, startAttacked } from '../support/neighbours.ts'

let cluster: Cluster
let neighbours: Neighbours
let gateway: RunningGateway

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  neighbours = await createNeighbours(cluster)
  // The key attacks many times in a minute. Without points it would soon be rejected.
  gateway = await startAttacked(cluster.url, { RATE_LIMIT: '0' })
})
afterAll(async () => {
  await gateway?.stop()
  await cluster?.remove()
})

// `npm run bench:neighbours` measures how long the others wait. Here the bounds are so wide that only a gateway that lets one
// key starve the others exceeds them: without its limits they wait for seconds, or get 503.
describe.skipIf(!canCreateClusters)('a client is answered while another one sends', () => {
  it.each(Object.entries(attacks))('%s', async (_, attack) => {
    const { victim, health, memory } = await observeAttack(gateway, neighbours, attack, 1)
    expect(Object.keys(victim.statuses)).toEqual(['200'])
    expect(Object.keys(health.statuses)).toEqual(['200'])
    expect(victim.p50).toBeLessThan(5_000)
    expect(memory).toBeLessThan(1_536)
  })
})
