import pg from 'pg'
import { run } from '../support/postgresql.ts'

/** The URL of a superuser and of a database of a coordinator, in which citus_add_node has added the nodes. */
const serverUrl = process.env['TEST_CITUS_URL']

/** A database of its own on the coordinator of TEST_CITUS_URL and on its nodes, with the extension. */
export interface CitusDatabase {
  /** `host:port` of each node. */
  readonly nodes: readonly string[]
  /** The URL of the database for the role that owns it, and for the one that reads and writes rows. */
  readonly ownerUrl: string
  readonly url: string
  readonly role: string
  /** The same for a superuser, on the coordinator or a node. */
  adminUrl(node?: string): string
  /** The rows of a statement of the superuser. */
  rows(sql: string, node?: string): Promise<Record<string, unknown>[]>
  remove(): Promise<void>
}

/** Creates the database and its roles. Its name is new for each process and each purpose. */
export async function createCitusDatabase(purpose: string): Promise<CitusDatabase> {
  const name = `fusion_test_${purpose}_${process.pid}`
  const [owner, role] = [`${name}_owner`, `${name}_app`]
  const urlOf = (database: string, node?: string, user?: string) => {
    const url = new URL(String(serverUrl))
    url.pathname = database
    if (node) url.host = node
    if (user) url.username = user
    return url.href
  }
  const found = await rowsOf(
    `SELECT nodename || ':' || nodeport AS node FROM pg_dist_node WHERE groupid <> 0 ORDER BY 1`,
    String(serverUrl),
  )
  const nodes = found.map(({ node }) => String(node))
  const all = [undefined, ...nodes]
  for (const node of all) {
    for (const one of [owner, role]) await run(urlOf('postgres', node), `CREATE ROLE ${one} LOGIN`)
    await run(urlOf('postgres', node), `CREATE DATABASE ${name} OWNER ${owner}`)
    await run(urlOf(name, node), 'CREATE EXTENSION citus')
  }
  const { hostname, port } = new URL(String(serverUrl))
  await run(urlOf(name), `SELECT citus_set_coordinator_host('${hostname}', ${port || 5432})`)
  return {
    nodes,
    role,
    ownerUrl: urlOf(name, undefined, owner),
    url: urlOf(name, undefined, role),
    adminUrl: (node) => urlOf(name, node),
    rows: (sql, node) => rowsOf(sql, urlOf(name, node)),
    async remove() {
      for (const node of all) await run(urlOf('postgres', node), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      for (const node of all) await run(urlOf('postgres', node), `DROP ROLE ${owner}, ${role}`)
    },
  }
}

async function rowsOf(sql: string, connectionString: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
