import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '@fusion-gateway/base'
import { type Driver, Sql, statement } from '@fusion-gateway/sql'
import { notePlacement, type PlannedMove, requireLayout } from './layout.ts'
import { runOnNodes } from './nodes.ts'

// A node numbers the events of its tenants, and readers know the greatest number that they have read. Before tenants
// come to a node, its numbers are raised above all that the other node has used, and will use until the tenants have
// moved. Nothing waits for this. The functions of the log (prisma/distributed.sql) know two offsets meanwhile, and
// docs/decisions/0040-moving-a-tenant.md says why no reader misses an event.

/** How many transactions the other node may number while rows are moved: 17 billion. An id has 48 bits for it. */
const margin = 2n ** 34n

const maxMilliseconds = 120_000
const pauseMilliseconds = 200

/** A node of Citus. All nodes get the same statements, and one of them has this group. */
interface Node {
  /** `host:port` */
  readonly node: string
  readonly group: string
}

/**
 * Lets a node number events above all that another node has numbered and will number soon. Waits until the transactions
 * have ended that could write smaller numbers.
 *
 * @param other the name of the other node
 * @throws OperatorError if a transaction runs for too long
 */
async function advanceSequences(sql: Sql, { node, group }: Node, other: string): Promise<void> {
  // Those of sessions that have ended can hold it up.
  await sql.execute(recoverPrepared)
  const wanted = (await readNumber(sql, other, usedNumber)) + margin
  const giveUpAt = performance.now() + maxMilliseconds
  while ((await readNumber(sql, node, openNumber)) < wanted) {
    if (performance.now() > giveUpAt) {
      throw new OperatorError(
        `A transaction has run on ${node} for ${maxMilliseconds / 1_000} s, and its events must be read first. ` +
          'See pg_stat_activity and pg_prepared_xacts there. Nothing has moved. It is safe to run the command again.',
      )
    }
    // Each is a transaction of its own.
    for (const step of steps(wanted)) {
      await runOnNodes(
        sql,
        `DO $$ BEGIN IF (SELECT groupid FROM pg_dist_local_group) = ${group} THEN ${step} END IF; END $$`,
      )
    }
    await sleep(pauseMilliseconds)
  }
}

const recoverPrepared = statement('SELECT recover_prepared_transactions()')

const steps = (offset: bigint) => [
  `UPDATE event_raise SET next = ${offset} WHERE next IS NULL;`,
  // All transactions that have looked at the offset before the first step ended have a smaller number than this one.
  'UPDATE event_raise SET since = pg_current_xact_id()::text::bigint WHERE next IS NOT NULL AND since IS NULL;',
  // When they have ended, both offsets mean the same.
  `IF (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= since FROM event_raise) THEN
    UPDATE event_state SET "offset" = next FROM event_raise;
    UPDATE event_raise SET next = NULL, since = NULL;
  END IF;`,
]

/** Above all numbers that a node has used. */
const usedNumber = 'coalesce(next, "offset") + pg_snapshot_xmax(pg_current_snapshot())::text::bigint'

/** Not above any number that a transaction uses which runs or will run. */
const openNumber = '"offset" + pg_snapshot_xmin(pg_current_snapshot())::text::bigint'

async function readNumber(sql: Sql, node: string, number: string): Promise<bigint> {
  const numbers = await runOnNodes(sql, `SELECT ${number} FROM event_state, event_raise`)
  return BigInt(String(numbers.find((found) => found.node === node)?.value))
}

export interface MoveOptions {
  readonly tenantAppId: string
  /** `host:port`, as Citus knows it. */
  readonly to: string
  /** Called before the rows are moved, with the names of the other tenants that move. */
  readonly onMove?: (others: readonly string[]) => void
}

/** Where the rows of a tenant are. */
interface Place {
  readonly shard: string
  readonly nodeId: string
  readonly node: string
}

/**
 * Moves the shards that have the rows of a tenant to another node of Citus, while gateways and workers run. It can be
 * run again after an interruption.
 *
 * @returns the node from which they were moved; undefined if they are there already
 * @throws OperatorError naming what is missing, or why Citus cannot move the shards
 */
export function moveTenant(driver: Driver, options: MoveOptions) {
  return driver.exclusively(async (connector) => {
    const sql = new Sql(connector)
    await requireLayout({ sql, driver })
    const target = await findTarget(sql, options.to)
    const from = await findPlace(sql, options.tenantAppId)
    if (from.nodeId === target.nodeId) {
      await notePlacement(sql)
      return undefined
    }
    const others = (await sql.query(listOthers, [from.shard, options.tenantAppId])).map(([name]) => String(name))
    await advanceSequences(sql, target, from.node)
    options.onMove?.(others)
    await move(sql, { shard: from.shard, group: target.group, ids: [from.nodeId, target.nodeId] })
    return from.node
  })
}

const listNodes = statement(`
  SELECT nodename || ':' || nodeport, nodeid::text, groupid::text FROM pg_dist_node
  WHERE noderole = 'primary' AND isactive AND shouldhaveshards ORDER BY 1`)

interface Target extends Node {
  readonly nodeId: string
}

async function findTarget(sql: Sql, to: string): Promise<Target> {
  const nodes = (await sql.query(listNodes)).map(([node, nodeId, group]) => ({
    node: String(node),
    nodeId: String(nodeId),
    group: String(group),
  }))
  const found = nodes.find(({ node }) => node === to)
  if (found) return found
  throw new OperatorError(
    `${to} is not a node that has shards. The nodes are ${nodes.map(({ node }) => node).join(', ')}. ` +
      `Add a node with: npm run fusion -- migrate distribute --node ${to}`,
  )
}

const findShard = statement(`
  SELECT shardid::text, nodeid::text, nodename || ':' || nodeport
  FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
  WHERE shardid = get_shard_id_for_distribution_column('event', $1::text) AND noderole = 'primary'`)

async function findPlace(sql: Sql, tenantAppId: string): Promise<Place> {
  const [[shard, nodeId, node] = []] = await sql.query(findShard, [tenantAppId])
  return { shard: String(shard), nodeId: String(nodeId), node: String(node) }
}

const listOthers = statement(`
  SELECT name FROM tenant_app WHERE get_shard_id_for_distribution_column('event', id) = $1::bigint AND id <> $2 ORDER BY name`)

const moveShard = statement('SELECT citus_move_shard_placement($1::bigint, $2::integer, $3::integer)')

/** Moves a shard of events and those of other tables with the same tenants, in one step. */
async function move(
  sql: Sql,
  { ids, ...planned }: PlannedMove & { readonly ids: readonly [string, string] },
): Promise<void> {
  await notePlacement(sql, planned)
  const error = await sql.query(moveShard, [planned.shard, ...ids]).then(
    () => undefined,
    (cause: unknown) => cause,
  )
  // After a lost connection, it is noted by the next run.
  const noted = notePlacement(sql)
  if (error === undefined) return noted
  await noted.catch(() => undefined)
  const reason = error instanceof Error ? error.message : String(error)
  throw new OperatorError(`Citus cannot move the shards: ${reason}. It is safe to run the command again.`, {
    cause: error,
  })
}
