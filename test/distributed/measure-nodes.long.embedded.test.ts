import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Database } from '@fusion-gateway/database'
import { createMetrics, measureNodes } from '@fusion-gateway/telemetry'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import type { Cluster } from '../support/cluster.ts'
import { followNodes } from '../support/database.ts'
import { readBlocks } from '../support/docs.ts'
import { locationOf } from '../support/settings.ts'
import { type CitusServers, canCreateCitus, createCitusServers, distribute } from './citus-servers.ts'
import { nodeOf } from './nodes.ts'

// The servers are those of the test, because it stops them. TEST_CITUS_URL says that Citus is to be tested.
describe.skipIf(!process.env['TEST_CITUS_URL'] || !canCreateCitus)('a node of a distributed database', () => {
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

  const hostOf = ({ adminUrl }: Cluster) => new URL(adminUrl).host

  /** What the metrics say of each node, in the order of the nodes. */
  async function readNodes(): Promise<number[]> {
    const values = (await metrics.registry.getSingleMetric('fusion_node_usable')?.get())?.values ?? []
    const byNode = new Map(values.map(({ labels, value }) => [labels['node'], value]))
    return servers.nodes.map((server) => byNode.get(hostOf(server)) ?? Number.NaN)
  }

  /** Creates tenants until each node has two. Returns their names by node. */
  async function createTenants(): Promise<Map<string, string[]>> {
    const created = new Map(servers.nodes.map((node) => [hostOf(node), [] as string[]]))
    for (const { id, name } of await database.prisma.tenantApp.findMany())
      created.get(await nodeOf({ database }, id))?.push(name)
    for (let number = 0; [...created.values()].some(({ length }) => length < 2); number += 1) {
      const { id, name } = await createTenant(database, `T${number}`)
      created.get(await nodeOf({ database }, id))?.push(name)
    }
    return created
  }

  /** Runs the commands of the runbook with the URL of a server, as the role of gateways. */
  async function runRunbook({ url }: Cluster) {
    const [block] = readBlocks('docs/runbooks.md', 'FusionNodeUnusable')
    const env = { ...process.env, DATABASE_URL: url }
    const startedAt = performance.now()
    // The last command fails if the last node does not answer.
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', block?.code ?? ''], { env }).catch(
      (error) => error,
    )
    return { stdout, stderr, seconds: (performance.now() - startedAt) / 1_000 }
  }

  it('is named by the metrics while it is down or hangs, and its runbook says what its tenants are', async () => {
    const [other, node] = servers.nodes as [Cluster, Cluster]
    const tenants = await createTenants()
    async function expectRunbook(state: string): Promise<void> {
      for (const server of [servers.coordinator, other]) {
        const { stdout, stderr, seconds } = await runRunbook(server)
        expect(stderr).toBe('')
        for (const [host, names] of tenants)
          expect(stdout).toMatch(new RegExp(`^ ${host} +\\| +${names.length} \\| ${names.toSorted().join(', ')}$`, 'm'))
        expect(stdout).toMatch(new RegExp(`^ ${hostOf(servers.coordinator)} +\\| +0 \\| $`, 'm'))
        expect(stdout).toContain(`${hostOf(node)} - ${state}\n`)
        for (const { url } of [servers.coordinator, other])
          expect(stdout).toContain(`${new URL(url).host} - accepting connections\n`)
        expect(seconds).toBeLessThan(10)
      }
    }
    expect(await readNodes()).toEqual([1, 1])
    await expectRunbook('accepting connections')
    await node.stop('immediate')
    await expect.poll(readNodes, { timeout: 10_000 }).toEqual([1, 0])
    await expectRunbook('no response')
    await node.start()
    await expect.poll(readNodes, { timeout: 10_000 }).toEqual([1, 1])
    node.freeze()
    await expect.poll(readNodes, { timeout: 10_000 }).toEqual([1, 0])
    await expectRunbook('no response')
    node.thaw()
    await expect.poll(readNodes, { timeout: 10_000 }).toEqual([1, 1])
  }, 120_000)
})
