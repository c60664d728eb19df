import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { fusion } from '../support/cli.ts'
import { awkwardPassword, type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { prepare } from '../support/gateway.ts'
import { run } from '../support/postgresql.ts'

/** Whether this machine has the programs of PostgreSQL and the extension. */
export const canCreateCitus = canCreateClusters && hasExtension()

function hasExtension(): boolean {
  const shared = '/usr/share/postgresql'
  const versions = existsSync(shared) ? readdirSync(shared) : []
  return versions.some((version) => existsSync(path.join(shared, version, 'extension/citus.control')))
}

/** Servers that a test can stop and restore: a coordinator, to which its nodes are not yet added. */
export interface CitusServers {
  readonly coordinator: Cluster
  readonly nodes: readonly Cluster[]
  readonly all: readonly Cluster[]
  remove(): Promise<void>
}

const settings = {
  shared_preload_libraries: 'citus',
  wal_level: 'logical',
  max_prepared_transactions: '600',
  'citus.enable_unsafe_triggers': 'on',
  'citus.node_conninfo': 'sslmode=require',
}

/**
 * Creates a coordinator and nodes, which ask each other for passwords.
 *
 * @param settingsOf further settings of each server, by its number
 */
export async function createCitusServers(
  nodes: number,
  settingsOf: (number: number) => Readonly<Record<string, string>> = () => ({}),
): Promise<CitusServers> {
  const all: Cluster[] = []
  for (let number = 0; number <= nodes; number += 1) {
    const ofServer = { ...settings, ...settingsOf(number) }
    const server = await createCluster(ofServer)
    // A server that is restored from its files has them too.
    for (const [name, value] of Object.entries(ofServer))
      await run(server.adminUrl, `ALTER SYSTEM SET ${name} = '${value.replaceAll("'", '')}'`)
    all.push(server)
  }
  const [coordinator, ...rest] = all
  if (!coordinator) throw new Error('There is no server')
  for (const { adminUrl } of all) {
    await run(adminUrl, 'CREATE EXTENSION citus')
    for (const role of ['postgres', 'fusion-owner', 'fusion-app']) {
      const value = `password='${awkwardPassword.replaceAll(/['\\]/g, '\\$&')}'`
      await run(
        adminUrl,
        `INSERT INTO pg_dist_authinfo VALUES (0, ${pg.escapeLiteral(role)}, ${pg.escapeLiteral(value)})`,
      )
    }
  }
  await run(coordinator.adminUrl, `SELECT citus_set_coordinator_host(${addressOf(coordinator)})`)
  return {
    coordinator,
    nodes: rest,
    all,
    remove: async () => {
      for (const server of all) await server.remove()
    },
  }
}

/**
 * Applies the migrations on the coordinator, and distributes the tables over the nodes.
 *
 * @returns the tenant and the key that were created before
 */
export async function distribute({ coordinator, nodes }: CitusServers, shards = 4) {
  const prepared = await prepare(coordinator)
  const options = nodes.flatMap(({ adminUrl }) => ['--node', new URL(adminUrl).host])
  const command = ['migrate', 'distribute', '--shards', String(shards), ...options]
  const { code, stderr } = await fusion(command, { DATABASE_URL: coordinator.adminUrl })
  if (code !== 0) throw new Error(stderr)
  return prepared
}

/** The address of a server, as two arguments of a function of Citus. */
function addressOf({ adminUrl }: Pick<Cluster, 'adminUrl'>): string {
  const { hostname, port } = new URL(adminUrl)
  return `'${hostname}', ${port}`
}
