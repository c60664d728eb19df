import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { OperatorError } from '../../errors.ts'
import { createAdapters } from '../adapter.ts'
import type { Driver } from '../driver.ts'
import { query, statement } from '../statement.ts'
import { notePlacement, type PlannedMove, requireLayout } from './layout.ts'
import { type Node, raiseNumbers } from './raise-numbers.ts'

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
    const sql = await createAdapters(connector).connect()
    await requireLayout({ sql, driver })
    const target = await findTarget(sql, options.to)
    const from = await findPlace(sql, options.tenantAppId)
    if (from.nodeId === target.nodeId) {
      await notePlacement(sql)
      return undefined
    }
    const others = (await query(sql, listOthers, [from.shard, options.tenantAppId])).map(([name]) => String(name))
    await raiseNumbers(sql, target, from.node)
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

async function findTarget(sql: SqlQueryable, to: string): Promise<Target> {
  const nodes = (await query(sql, listNodes)).map(([node, nodeId, group]) => ({
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

async function findPlace(sql: SqlQueryable, tenantAppId: string): Promise<Place> {
  const [[shard, nodeId, node] = []] = await query(sql, findShard, [tenantAppId])
  return { shard: String(shard), nodeId: String(nodeId), node: String(node) }
}

const listOthers = statement(`
  SELECT name FROM tenant_app WHERE get_shard_id_for_distribution_column('event', id) = $1::bigint AND id <> $2 ORDER BY name`)

const moveShard = statement('SELECT citus_move_shard_placement($1::bigint, $2::integer, $3::integer)')

/** Moves a shard of events and those of other tables with the same tenants, in one step. */
async function move(
  sql: SqlQueryable,
  { ids, ...planned }: PlannedMove & { readonly ids: readonly [string, string] },
): Promise<void> {
  await notePlacement(sql, planned)
  const error = await query(sql, moveShard, [planned.shard, ...ids]).then(
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
