import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '@fusion-gateway/base'
import { ownTables } from '@fusion-gateway/database'
import { citusVersion, type Driver, type NodeObserver, type Sql, statement } from '@fusion-gateway/sql'
import { runOnNodes } from './nodes.ts'

/** The tables that are distributed. The others each server has for itself. */
const distributed = [...ownTables.keys()].filter((name) => name !== 'event_state' && name !== 'event_raise')

// Citus also knows tables of this server alone, which refer to tables that each node has ('n', 's'). A table of tenants
// has the tenant in its primary key. A key is found by a hash that is unique over all tenants, so its table is on each
// node, as that of the tenants is.
const listTables = statement(`
  SELECT quote_ident(c.relname), EXISTS (
      SELECT FROM pg_index x JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_app_id'
      WHERE x.indrelid = c.oid AND x.indisprimary AND a.attnum = ANY (x.indkey::int2[])
    ) AND NOT EXISTS (
      SELECT FROM pg_index x JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_app_id'
      WHERE x.indrelid = c.oid AND x.indisunique AND a.attnum <> ALL (x.indkey::int2[])),
    EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = c.oid AND (partmethod, repmodel) <> ('n', 's')), c.relkind = 'p'
  FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relname = ANY ($1::text[])
  ORDER BY 1`)

export interface DistributedTable {
  /** As an identifier of SQL. */
  readonly name: string
  /** Whether its rows are distributed by tenant. Otherwise each node has all of them. */
  readonly isOfTenants: boolean
  readonly isDistributed: boolean
  readonly isPartitioned: boolean
}

/**
 * Lists the tables of a database with Citus, in the order of their names.
 *
 * @param created further tables, such as those that a migration has just created. Others belong to other programs
 */
export async function readTables(sql: Sql, created: readonly string[] = []): Promise<DistributedTable[]> {
  return (await sql.query(listTables, [[...distributed, ...created]])).map(
    ([name, isOfTenants, isDistributed, isPartitioned]) => ({
      name: String(name),
      isOfTenants: isOfTenants === true,
      isDistributed: isDistributed === true,
      isPartitioned: isPartitioned === true,
    }),
  )
}

/** A shard of events that is about to be on another node, which has a group. */
export interface PlannedMove {
  readonly shard: string
  readonly group: string
}

// Where the events of tenants are numbered.
const placement = (group: string) => `
  SELECT md5(string_agg(shardid || ' ' || shardminvalue || ' ' || ${group}, ',' ORDER BY shardid))
  FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) WHERE logicalrelid = 'event'::regclass`

// Parameters: a shard, and the group of the node on which it will be.
const readPlacement = statement(`
  SELECT (${placement('groupid')}), (${placement('CASE WHEN shardid = $1::bigint THEN $2::integer ELSE groupid END')}),
    obj_description('event_state'::regclass, 'pg_class')`)

/** Whether the shards are where `migrate distribute` and `migrate move` have placed or last seen them. */
export async function isPlacedAsNoted(sql: Sql): Promise<boolean> {
  const [[present, , noted] = []] = await sql.query(readPlacement, [null, null])
  return String(noted).split(' ').includes(String(present))
}

/**
 * Notes on each node where the shards are, in a comment that a dump keeps.
 *
 * @param planned is noted too, so that processes that watch the placement accept both
 */
export async function notePlacement(sql: Sql, planned?: PlannedMove): Promise<void> {
  const [places = []] = await sql.query(readPlacement, [planned?.shard ?? null, planned?.group ?? null])
  const noted = new Set(places.slice(0, 2))
  await runOnNodes(sql, `COMMENT ON TABLE event_state IS '${['placement', ...noted].join(' ')}'`)
}

/** The servers that do not number events as the servers that they are: a backup can be of another one. */
export async function findForeignNumbers(sql: Sql): Promise<string[]> {
  const states = await runOnNodes(sql, 'SELECT server = system_identifier FROM event_state, pg_control_system()')
  return states.filter(({ value }) => value !== 't').map(({ node }) => node)
}

/** Whether each node numbers events as the server that it is. */
export async function isNumbering(sql: Sql): Promise<boolean> {
  return (await findForeignNumbers(sql)).length === 0
}

/** What there is of an open database. */
interface OpenDatabase {
  readonly sql: Sql
  readonly driver: Pick<Driver, 'isDistributed' | 'routeRead' | 'reachDirectly' | 'follow' | 'nodes'>
}

const again = 'Stop all gateways and workers, and run: npm run fusion -- migrate distribute'

/**
 * Requires, of a database with Citus, that no table is distributed, or that `migrate distribute` has distributed all.
 * Otherwise followers of the event log would miss events without an error, because each node numbers those of its
 * tenants. All nodes must answer.
 *
 * @throws OperatorError saying what to do
 */
export async function requireLayout(database: OpenDatabase): Promise<void> {
  if (!(await requireTables(database)) || (await isNumbering(database.sql))) return
  throw restoredElsewhere()
}

/**
 * The same for a process that serves or works, which then follows the nodes. It starts while nodes do not answer: these
 * are checked when they are back (`watchPlacement`).
 *
 * @param onNode see {@link NodeObserver}
 * @throws OperatorError saying what to do
 */
export async function followLayout(database: OpenDatabase, onNode: NodeObserver): Promise<void> {
  if (!(await requireTables(database))) return
  await database.driver.follow?.(onNode)
  requireOwnNumbers(database)
}

function requireOwnNumbers({ driver }: OpenDatabase): void {
  if (driver.nodes?.().some((node) => node.isForeign())) throw restoredElsewhere()
}

function restoredElsewhere(): OperatorError {
  return new OperatorError(`A node was restored into another server. Events could be missed. ${again}`)
}

/** Returns whether the tables are distributed. */
async function requireTables({ sql, driver }: OpenDatabase): Promise<boolean> {
  const tables = (await citusVersion(sql)) === undefined ? [] : await readTables(sql)
  if (!tables.some(({ isDistributed }) => isDistributed)) return false
  if (driver.routeRead)
    throw new OperatorError('DATABASE_REPLICA_URLS is not supported for a distributed database yet.')
  const missing = tables.filter(({ isDistributed }) => !isDistributed).map(({ name }) => name)
  if (missing.length > 0) {
    throw new OperatorError(`Citus has distributed some tables, and not ${missing.join(', ')}. ${again}`)
  }
  if (driver.reachDirectly) {
    throw new OperatorError('A pooler (DATABASE_DIRECT_URL) is not supported for a distributed database yet.')
  }
  await requirePlacement(sql)
  return true
}

async function requirePlacement(sql: Sql): Promise<void> {
  if (await isPlacedAsNoted(sql)) return
  throw new OperatorError(
    `Citus has moved shards, or another program has distributed the tables. Events could be missed. ${again}`,
  )
}

const checkMilliseconds = 5_000

/**
 * Watches, on a distributed database, whether Citus moves shards or a node comes back as another server: a process that
 * followed the event log would miss events.
 *
 * @returns resolves with what an operator has to do, if that happens before the signal is aborted
 */
export async function watchPlacement(database: OpenDatabase, signal: AbortSignal): Promise<OperatorError | undefined> {
  const { sql } = database
  while (!signal.aborted) {
    await sleep(checkMilliseconds, undefined, { signal, ref: false }).catch(() => undefined)
    const problem = await requirePlacement(sql)
      .then(() => requireOwnNumbers(database))
      .catch((error: unknown) => error)
    // A database that cannot be reached is reported by the requests.
    if (problem instanceof OperatorError) return problem
  }
  return undefined
}
