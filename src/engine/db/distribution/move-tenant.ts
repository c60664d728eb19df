import { setTimeout as sleep } from 'node:timers/promises'
import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { OperatorError } from '../../errors.ts'
import { type Connector, createAdapters } from '../adapter.ts'
import type { Driver } from '../driver.ts'
import { query, statement } from '../statement.ts'
import { notePlacement, type PlannedMove, requireLayout } from './layout.ts'
import { runOnNodes } from './nodes.ts'

// A node numbers the events of its tenants, and readers know the greatest number that they have read. So the numbers of the
// other node are raised above all that this one can use until its shards are there: those of the followers and of the
// webhooks, which read on meanwhile. docs/decisions/0040-moving-a-tenant.md has the proof.

export interface MoveOptions {
  readonly tenantAppId: string
  /** `host:port`, as Citus knows it. */
  readonly to: string
  /** Whether the tenant gets shards of its own first, so that no other tenant moves. */
  readonly isAlone: boolean
  /** Called before the rows are moved, with the names of the other tenants that move. */
  readonly onMove?: (others: readonly string[]) => void
}

/** Where the rows of a tenant are. */
interface Place {
  readonly shard: string
  /** Whether no other tenant can be in the shard. */
  readonly isAlone: boolean
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
      await notePlacement(sql, connector.runScript)
      return undefined
    }
    if (options.isAlone && !from.isAlone) await isolate(sql, options.tenantAppId)
    const { shard } = await findPlace(sql, options.tenantAppId)
    const others = (await query(sql, listOthers, [shard, options.tenantAppId])).map(([name]) => String(name))
    await raiseAbove(sql, from.node, target)
    options.onMove?.(others)
    await move(sql, connector, { shard, group: target.group, ids: [from.nodeId, target.nodeId] })
    return from.node
  })
}

const listNodes = statement(`
  SELECT nodename || ':' || nodeport, nodeid::text, groupid::text FROM pg_dist_node
  WHERE noderole = 'primary' AND isactive AND shouldhaveshards ORDER BY 1`)

type Target = Readonly<Record<'node' | 'nodeId' | 'group', string>>

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
  SELECT shardid::text, shardminvalue = shardmaxvalue, nodeid::text, nodename || ':' || nodeport
  FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
  WHERE shardid = get_shard_id_for_distribution_column('event', $1) AND noderole = 'primary'`)

async function findPlace(sql: SqlQueryable, tenantAppId: string): Promise<Place> {
  const [[shard, isAlone, nodeId, node] = []] = await query(sql, findShard, [tenantAppId])
  return { shard: String(shard), isAlone: isAlone === true, nodeId: String(nodeId), node: String(node) }
}

const listOthers = statement(`
  SELECT name FROM tenant_app WHERE get_shard_id_for_distribution_column('event', id) = $1::bigint AND id <> $2 ORDER BY name`)

const isolateShard = statement(`SELECT isolate_tenant_to_new_shard('event', $1, 'CASCADE')`)

/** Splits the shards of a tenant where they are: its events keep their node. */
async function isolate(sql: SqlQueryable, tenantAppId: string): Promise<void> {
  await query(sql, isolateShard, [tenantAppId]).catch((cause: unknown) => {
    throw toOperatorError('Citus cannot give the tenant shards of its own', cause)
  })
}

/**
 * How many transactions the node that has the tenant may number while the rows are moved: 17 billion. An id has 48 bits
 * for it.
 */
const margin = 2n ** 34n

const tries = 60
const pauseMilliseconds = 1_000

/** Lets the target number events above all that the other node has numbered, and will number soon. */
async function raiseAbove(sql: SqlQueryable, source: string, { node, group }: Target): Promise<void> {
  const wanted = (await readNumber(sql, source, 'xmax')) + margin
  for (let tried = 0; (await readNumber(sql, node, 'xmin')) < wanted; tried += 1) {
    if (tried === tries) {
      throw new OperatorError(
        `Transactions on ${node} have kept the numbers of events from being raised for a minute. See pg_stat_activity and pg_prepared_xacts there. ` +
          'Nothing has moved. It is safe to run the command again.',
      )
    }
    if (tried > 0) await sleep(pauseMilliseconds)
    await runOnNodes(sql, raiseScript(group, wanted))
  }
}

/** The number of the first transaction that runs on a node (`xmin`), or that begins next (`xmax`). */
async function readNumber(sql: SqlQueryable, node: string, end: 'xmin' | 'xmax'): Promise<bigint> {
  const numbers = await runOnNodes(
    sql,
    `SELECT "offset" + pg_snapshot_${end}(pg_current_snapshot())::text::bigint FROM event_state`,
  )
  return BigInt(String(numbers.find((number) => number.node === node)?.value))
}

/**
 * Raises the offset of one node when no transaction runs there that has numbered an event: each has a lock on the table.
 * Others wait for it for at most a second.
 */
function raiseScript(group: string, offset: bigint): string {
  return `DO $raise$ BEGIN
    IF (SELECT groupid FROM pg_dist_local_group) = ${group} THEN
      PERFORM set_config('lock_timeout', '1s', true);
      LOCK TABLE event_state IN ACCESS EXCLUSIVE MODE;
      UPDATE event_state SET "offset" = greatest("offset", ${offset});
    END IF;
  EXCEPTION WHEN lock_not_available OR deadlock_detected THEN NULL;
  END $raise$`
}

const moveShard = statement('SELECT citus_move_shard_placement($1::bigint, $2::integer, $3::integer)')

/** Moves a shard of events and those of other tables with the same tenants, in one step. */
async function move(
  sql: SqlQueryable,
  { runScript }: Connector,
  { ids, ...planned }: PlannedMove & { readonly ids: readonly [string, string] },
): Promise<void> {
  await notePlacement(sql, runScript, planned)
  const error = await query(sql, moveShard, [planned.shard, ...ids]).then(
    () => undefined,
    (cause: unknown) => cause,
  )
  // After a lost connection, it is noted by the next run.
  const noted = notePlacement(sql, runScript)
  if (error === undefined) return noted
  await noted.catch(() => undefined)
  throw toOperatorError('Citus cannot move the shards', error)
}

function toOperatorError(problem: string, cause: unknown): OperatorError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new OperatorError(`${problem}: ${reason}. It is safe to run the command again.`, { cause })
}
