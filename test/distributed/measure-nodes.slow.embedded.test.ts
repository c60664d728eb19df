import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../src/engine/db/database.ts'
import { measureNodes } from '../../src/engine/telemetry/measure-nodes.ts'
import { createMetrics } from '../../src/engine/telemetry/metrics.ts'
import { followNodes } from '../support/database.ts'
import { locationOf } from '../support/settings.ts'
import { type CitusServers, canCreateCitus, createCitusServers, distribute } from './citus-servers.ts'

// The servers are those of the test, because it stops them. TEST_CITUS_URL says that Citus is to be tested.
describe.skipIf(!process.env['TEST_CITUS_URL'] || !canCreateCitus)('the metrics of a distributed database', () => {
  let servers: CitusServers
  let database: Database
  const metrics = createMetrics()

  beforeAll(async () => {
    servers = await createCitusServers(2)
    await distribute(servers)
    database = await openDatabase(locationOf(servers.coordinator.url))
    await followNodes(database)
    measureNodes(metrics, database)
  }, 120_000)
  afterAll(async () => {
    await database?.close()
    await servers?.remove()
  })

  /** What the metrics say of each node, in the order of the nodes. */
  async function readNodes(): Promise<number[]> {
    const values = (await metrics.registry.getSingleMetric('fusion_node_usable')?.get())?.values ?? []
    const byNode = new Map(values.map(({ labels, value }) => [labels['node'], value]))
    return servers.nodes.map(({ adminUrl }) => byNode.get(new URL(adminUrl).host) ?? Number.NaN)
  }

  it('name the node that is down or hangs, until it is back', async () => {
    const [, node] = servers.nodes
    expect(await readNodes()).toEqual([1, 1])
    await node?.stop('immediate')
    await expect.poll(readNodes, { timeout: 10_000 }).toEqual([1, 0])
    await node?.start()
    await expect.poll(readNodes, { timeout: 10_000 }).toEqual([1, 1])
    node?.freeze()
    await expect.poll(readNodes, { timeout: 10_000 }).toEqual([1, 0])
    node?.thaw()
    await expect.poll(readNodes, { timeout: 10_000 }).toEqual([1, 1])
  }, 60_000)
})
