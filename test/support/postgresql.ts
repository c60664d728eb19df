import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { awkwardPassword, canCreateClusters, createCluster } from './cluster.ts'

/**
 * Whether the suite runs on a PostgreSQL server: TEST_DATABASE_URL is the URL of a user who can create databases and
 * roles. Otherwise it runs on PGlite.
 */
export const hasServer = Boolean(process.env['TEST_DATABASE_URL'])

/**
 * The URL of a database on the server, for the user who created it. {@link prepareServer} may have replaced the server.
 */
export function adminUrl(database?: string): string {
  const url = new URL(process.env['TEST_DATABASE_URL'] ?? '')
  if (database !== undefined) url.pathname = `/${database}`
  return url.href
}

/** The roles of a run: the one that owns the databases, and the one that only reads and writes rows. */
interface Roles {
  readonly owner: Role
  readonly app: Role
}

interface Role {
  readonly name: string
  readonly password: string
}

function rolesOfRun(): Roles {
  return JSON.parse(process.env['TEST_ROLES'] ?? '{}')
}

/** The URL of a database on the server, for the role that owns it and is no superuser. */
export function ownerUrl(database: string): string {
  return urlOf(database, rolesOfRun().owner)
}

/** The URL of a database on the server, for the role that may only read and write rows. */
export function databaseUrl(database: string): string {
  const url = new URL(urlOf(database, rolesOfRun().app))
  const [node] = nodes
  if (gatewaysOfRun === 'node' && node !== undefined) url.host = node
  return url.href
}

/** The name of the role that may only read and write rows. */
export function appRole(): string {
  return rolesOfRun().app.name
}

function urlOf(database: string, { name, password }: Role): string {
  const url = new URL(adminUrl(database))
  url.username = encodeURIComponent(name)
  url.password = encodeURIComponent(password)
  return url.href
}

/** Creates a database of the role that owns databases. */
export function createDatabaseOfOwner(database: string, options = ''): Promise<void> {
  return runOnServers(`CREATE DATABASE ${database} OWNER "${rolesOfRun().owner.name}" ${options}`)
}

export function dropDatabase(database: string): Promise<void> {
  return runOnServers(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
}

/** The nodes of a distributed run, besides the server that receives statements: `host:port`. */
export const nodes: readonly string[] = JSON.parse(process.env['TEST_CITUS_NODES'] ?? '[]')

/** Whether the gateways of a distributed run are connected to a `node`, and not to the coordinator. */
const gatewaysOfRun = process.env['TEST_CITUS_GATEWAYS']

/** Whether Citus distributes the tables over the nodes of the server. */
export const isDistributed = nodes.length > 0

/** Runs one statement on the server and its nodes, outside of the databases under test or on one of them. */
export async function runOnServers(sql: string, database?: string): Promise<void> {
  for (const host of [new URL(adminUrl()).host, ...nodes]) {
    // From a database of Citus, some statements reach the nodes by themselves.
    const url = new URL(adminUrl(database ?? (isDistributed ? 'postgres' : undefined)))
    url.host = host
    await run(url.href, sql)
  }
}

/** Runs one statement outside of the databases under test. */
export function runAsAdmin(sql: string): Promise<void> {
  return run(adminUrl(), sql)
}

/** Runs one statement on a database of the server, as its administrator. */
export function runAsAdminOn(database: string, sql: string): Promise<void> {
  return run(adminUrl(database), sql)
}

/** Runs a script in a session of its own. */
export async function run(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/**
 * Prepares the server of TEST_DATABASE_URL for a run, before its processes start: creates the roles. A server that lets
 * everybody in hides defects, so it is replaced by one that asks for passwords and TLS.
 *
 * @returns removes what was created
 */
export async function prepareServer(): Promise<() => Promise<void>> {
  const url = process.env['TEST_DATABASE_URL']
  // A run of partitions has prepared it.
  if (!url || process.env['TEST_ROLES']) return async () => undefined
  const isOwn = nodes.length === 0 && (await letsEverybodyIn(url))
  const cluster = isOwn ? await createOwnServer() : undefined
  if (cluster) process.env['TEST_DATABASE_URL'] = cluster.adminUrl
  const suffix = randomUUID().slice(0, 8)
  const roles: Roles = {
    owner: { name: `fusion-owner-${suffix}`, password: awkwardPassword },
    app: { name: `fusion-app-${suffix}`, password: awkwardPassword },
  }
  process.env['TEST_ROLES'] = JSON.stringify(roles)
  for (const { name, password } of Object.values(roles) as Role[]) {
    await runOnServers(`CREATE ROLE "${name}" LOGIN PASSWORD ${pg.escapeLiteral(password)}`)
  }
  // Needed by an administrator who is no superuser.
  await runOnServers(`GRANT "${roles.owner.name}" TO CURRENT_USER`)
  return async () => {
    if (cluster) return cluster.remove()
    for (const { name } of Object.values(roles) as Role[]) await runOnServers(`DROP ROLE "${name}"`)
  }
}

async function letsEverybodyIn(url: string): Promise<boolean> {
  const wrong = new URL(url)
  wrong.password = randomUUID()
  const client = new pg.Client({ connectionString: wrong.href })
  try {
    await client.connect()
    await client.end()
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === '28P01') return false
    throw error
  }
}

async function createOwnServer() {
  if (!canCreateClusters) {
    throw new Error(
      'TEST_DATABASE_URL names a server that asks for no password. Install PostgreSQL and openssl, or name another one.',
    )
  }
  return createCluster()
}
