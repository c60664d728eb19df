import { OperatorError } from '@fusion-gateway/base'
import { literals, modelTables } from '@fusion-gateway/database'
import { type Driver, isLockDenied, Sql, statement } from '@fusion-gateway/sql'
import { copyDatabaseGrants, createFunctions, equipNodes, type Run, setDatabases } from './each-server.ts'
import { type DistributedTable, isNumbering, isPlacedAsNoted, notePlacement, readTables } from './layout.ts'
import { prepareNodes, runOnNodes } from './nodes.ts'

export interface DistributeOptions {
  /** `host:port` of each node that is added. */
  readonly nodes: readonly string[]
  /** Into how many parts each table of tenants is split. */
  readonly shards: number
  /** Called before the rows of a table are moved. */
  readonly onTable?: (table: string) => void
}

/**
 * Distributes the tables of tenants over the nodes of Citus by `tenant_app_id`, and copies the others to each node. It
 * can be run again: after an interruption, and after shards were moved or a node was restored, with all gateways
 * stopped. The event log is then numbered above everything that its readers know.
 *
 * @returns the tables that were distributed now and the number of their rows
 * @throws OperatorError naming what is missing, or if rows would be lost
 */
export function distributeTables(driver: Driver, options: DistributeOptions) {
  return driver
    .exclusively(async (connector) => {
      const sql = new Sql(connector)
      return distribute(sql, connector.runScript, options)
    })
    .catch((cause: unknown) => {
      if (!isLockDenied(cause)) throw cause
      const reason = `Other transactions hold locks on the tables: ${(cause as Error).message}.`
      throw new OperatorError(`${reason} Nothing has changed. It is safe to run the command again.`, { cause })
    })
}

async function distribute(sql: Sql, run: Run, { nodes, shards, onTable }: DistributeOptions) {
  await prepareNodes(sql, nodes)
  const tables = await readTables(sql)
  const partitioned = tables.filter(({ isPartitioned }) => isPartitioned).map(({ name }) => name)
  if (partitioned.length > 0) {
    throw new OperatorError(
      `Partitioned tables cannot be distributed: ${partitioned.join(', ')}. Export, and import into a new database.`,
    )
  }
  const left = tables.filter(({ isDistributed }) => !isDistributed)
  const isFirst = left.length === tables.length
  // Also for a node that was added to a distributed database.
  await equipNodes(sql)
  await setDatabases(sql)
  await copyDatabaseGrants(sql)
  if (left.length > 0) {
    await run('SET citus.enable_unsafe_triggers = on')
    await createFunctions(sql, run)
  }
  const rows = left.length > 0 ? await convert(sql, run, { tables: left, shards, isFirst, onTable }) : 0
  const isMoved = !(await isPlacedAsNoted(sql)) || !(await isNumbering(sql))
  if (isMoved && !isFirst) await raise(sql, await nextOffset(sql))
  await notePlacement(sql)
  for (const { name } of left.toReversed()) await run(`SELECT truncate_local_data_after_distributing_table('${name}')`)
  return { tables: left.map(({ name }) => name), rows, isMoved: isMoved && !isFirst }
}

interface Conversion {
  readonly tables: readonly DistributedTable[]
  readonly shards: number
  readonly isFirst: boolean
  readonly onTable?: ((table: string) => void) | undefined
}

// Citus has no ON UPDATE for the column by which rows are distributed. No key of a row changes.
const listKeys = statement(`
  SELECT conrelid::regclass::text, quote_ident(conname), replace(pg_get_constraintdef(oid), ' ON UPDATE CASCADE', '')
  FROM pg_constraint WHERE contype = 'f' AND (conrelid = ANY ($1::text[]::regclass[]) OR confrelid = ANY ($1::text[]::regclass[]))`)

const listTriggered = statement(`
  SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = ANY ($1::text[]::regclass[])`)

/** Distributes tables in one transaction. Returns the number of their rows. */
async function convert(sql: Sql, run: Run, { tables, shards, isFirst, onTable }: Conversion): Promise<number> {
  const names = tables.map(({ name }) => name)
  await run('BEGIN')
  await run(`SET LOCAL lock_timeout = '10s'`)
  await run(`SET LOCAL citus.multi_shard_modify_mode = 'sequential'`)
  await run(`SET LOCAL citus.shard_count = ${shards}`)
  await run(`LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`)
  if (isFirst) {
    // Citus deletes the rows of a tenant by foreign keys: a trigger would run on every node, and reach one.
    await run('DROP TRIGGER IF EXISTS deleted ON tenant_app')
    await run(
      'ALTER TABLE event ADD CONSTRAINT event_tenant_app_id_fkey FOREIGN KEY (tenant_app_id) REFERENCES tenant_app (id) ON DELETE CASCADE',
    )
    await raise(sql, await nextOffset(sql))
  }
  // A foreign key is between tables that are both distributed. The copies of rows fire triggers.
  const keys = await sql.query(listKeys, [names])
  const triggered = (await sql.query(listTriggered, [names])).map(([name]) => String(name))
  for (const [table, key] of keys) await run(`ALTER TABLE ${table} DROP CONSTRAINT ${key}`)
  for (const name of triggered) await run(`ALTER TABLE ${name} DISABLE TRIGGER USER`)
  let rows = 0
  for (const table of tables.toSorted((one, other) => Number(one.isOfTenants) - Number(other.isOfTenants))) {
    onTable?.(table.name)
    rows += await distributeTable(sql, run, table)
  }
  for (const [table, key, definition] of keys) await run(`ALTER TABLE ${table} ADD CONSTRAINT ${key} ${definition}`)
  for (const name of triggered) await run(`ALTER TABLE ${name} ENABLE TRIGGER USER`)
  if (isFirst) {
    await run('CREATE TRIGGER stamped BEFORE INSERT ON idempotent_answer FOR EACH ROW EXECUTE FUNCTION stamp_on_node()')
  }
  await run('COMMIT')
  return rows
}

/**
 * Distributes a table, or copies it to each node.
 *
 * @returns the number of its rows
 * @throws OperatorError if rows would be lost
 */
export async function distributeTable(sql: Sql, run: Run, { name, isOfTenants }: DistributedTable) {
  const count = statement(`SELECT count(*)::text FROM ${name}`)
  const [[before] = []] = await sql.query(count)
  const others = await sql.query(findColocated)
  const colocated = others[0]?.[0] ?? 'default'
  await run(
    isOfTenants
      ? `SELECT create_distributed_table('${name}', 'tenant_app_id', colocate_with => '${colocated}')`
      : `SELECT create_reference_table('${name}')`,
  )
  const [[after] = []] = await sql.query(count)
  if (before !== after)
    throw new OperatorError(`${name} had ${before} rows, and has ${after} now. Nothing has changed.`)
  return Number(after)
}

/** A table that is distributed by tenant: the rows of a tenant are on one node. */
const findColocated = statement(`
  SELECT logicalrelid::text FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid
  WHERE relnamespace = 'public'::regnamespace AND relname IN (${literals(modelTables)}) AND partmethod = 'h' ORDER BY 1 LIMIT 1`)

const positions = ['event.id', 'tenant_app.events_removed_to', 'webhook.cursor', 'erasure.seen_in']

/** The offset with which all new ids are greater than every position that the log and its readers know. */
async function nextOffset(sql: Sql): Promise<bigint> {
  let greatest = 0n
  for (const column of positions) {
    const [table] = column.split('.')
    const [[found] = []] = await sql.query(
      statement(`SELECT max(${column}) FROM ${table} WHERE ${column} ~ '^evt_[0-9a-f]{12}'`),
    )
    if (found == null) continue
    const prefix = BigInt(`0x${String(found).slice(4, 16)}`)
    if (prefix > greatest) greatest = prefix
  }
  return greatest + 1n
}

/** Lets the nodes number events above an offset. */
async function raise(sql: Sql, offset: bigint): Promise<void> {
  await runOnNodes(
    sql,
    `UPDATE event_state SET server = system_identifier, "offset" = greatest("offset", next, ${offset}) FROM pg_control_system(), event_raise`,
  )
  // A move that was interrupted can have left another offset, which is not needed any more.
  await runOnNodes(sql, 'UPDATE event_raise SET next = NULL, since = NULL')
}
