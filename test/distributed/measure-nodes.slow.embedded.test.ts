import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../src/engine/db/database.ts'
import { measureNodes } from '../../src/engine/telemetry/measure-nodes.ts'
import { createMetrics } from '../../src/engine/telemetry/metrics.ts'
import { fusion } from '../support/cli.ts'
import { prepare } from '../support/gateway.ts'
import { locationOf } from '../support/settings.ts'
import { type CitusServers, canCreateCitus, createCitusServers } from './citus-servers.ts'

// The servers are those of the test, because it stops them. TEST_CITUS_URL says that Citus is to be tested.
describe.skipIf(!process.env['TEST_CITUS_URL'] || !canCreateCitus)('the metrics of a distributed database', () => {
  let servers: CitusServers
  let database: Database

  beforeAll(async () => {
    servers = await createCitusServers(2)
    await prepare(servers.coordinator)
    const options = servers.nodes.flatMap(({ adminUrl }) => ['--node', new URL(adminUrl).host])
    const env = { DATABASE_URL: servers.coordinator.adminUrl }
    expect(await fusion(['migrate', 'distribute', '--shards', '4', ...options], env)).toMatchObject({ code: 0 })
    database = await openDatabase(locationOf(servers.coordinator.url))
    await database.prisma.tenantApp.count()
  }, 120_000)
  afterAll(async () => {
    await database?.close()
    await servers?.remove()
  })

  /** What the metrics of a new process say of each node, in the order of the nodes. */
  async function readNodes(): Promise<number[]> {
    const metrics = createMetrics()
    measureNodes(metrics, database)
    const gauge = metrics.registry.getSingleMetric('fusion_node_usable')
    const read = async () => (await gauge?.get())?.values ?? []
    // The first scrape starts to read.
    await expect.poll(async () => (await read()).length).toBe(2)
    const byNode = new Map((await read()).map(({ labels, value }) => [labels['node'], value]))
    return servers.nodes.map(({ adminUrl }) => byNode.get(new URL(adminUrl).host) ?? Number.NaN)
  }

  it('name the node that is down, until it is back', async () => {
    expect(await readNodes()).toEqual([1, 1])
    await servers.nodes[1]?.stop('immediate')
    expect(await readNodes()).toEqual([1, 0])
    await servers.nodes[1]?.start()
    expect(await readNodes()).toEqual([1, 1])
  }, 60_000)
})
