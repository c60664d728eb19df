import { OperatorError } from '../../errors.ts'
import { type Connector, createAdapters } from '../adapter.ts'
import type { Driver } from '../driver.ts'
import { isLockDenied } from '../errors.ts'
import { query, statement } from '../statement.ts'
import { writeCompletion, writeCreation } from './copy-statements.ts'
import { requireNoObstacles } from './obstacles.ts'
import { readTenantTables, type TenantTable } from './tenant-tables.ts'

/** The schema of the copies, until they replace the tables. */
const copies = 'fusion_partitioning'
const unchanged = 'Nothing has changed.'

export interface PartitionOptions {
  /** The number of partitions of each table. */
  readonly modulus: number
  /** Called before the rows of a table are copied. */
  readonly onTable?: (table: string) => void
}

/**
 * Partitions the tables of tenants by the hash of `tenant_app_id`: one transaction copies their rows to partitioned tables, compares
 * the numbers of rows, and replaces the tables. They can be read until then, and writes wait.
 *
 * @returns the tables and the number of their rows; no table that was partitioned before
 * @throws OperatorError if a copy would lose properties or rows of a table, or other transactions hold locks on the tables
 */
export function partitionTables(driver: Driver, options: PartitionOptions) {
  return driver
    .exclusively((connector) => partition(connector, options))
    .catch((cause: unknown) => {
      if (!isLockDenied(cause)) throw cause
      const reason = `Other transactions hold locks on the tables: ${(cause as Error).message}.`
      throw new OperatorError(`${reason} ${unchanged} It is safe to run the command again.`, { cause })
    })
}

async function partition(connector: Connector, { modulus, onTable }: PartitionOptions) {
  const { runScript } = connector
  const sql = await createAdapters(connector).connect()
  const tables = withoutPartitions(await readTenantTables(sql), modulus)
  if (tables.length === 0) return { tables, rows: 0 }
  const [[schema] = []] = await query(sql, statement('SELECT quote_ident(current_schema())'))
  const originals = tables.map((table) => `${schema}.${table}`)
  // If the session ends before the COMMIT, PostgreSQL undoes everything.
  await runScript(`BEGIN; SET LOCAL lock_timeout = '10s'; SET LOCAL row_security = off; SET LOCAL search_path = ''`)
  await requireNoObstacles(sql, connector, originals)
  await runScript(`LOCK TABLE ${originals.join(', ')} IN EXCLUSIVE MODE; SET LOCAL search_path = ${schema}`)
  const [[create] = []] = await query(sql, writeCreation, [tables, String(modulus)])
  const [[complete] = []] = await query(sql, writeCompletion, [tables])
  await runScript(`CREATE SCHEMA ${copies}; SET LOCAL search_path = ${copies}, ${schema}; ${create}`)
  const counts = new Map<string, number>()
  for (const table of tables) {
    onTable?.(table)
    const [original, copy] = [`${schema}.${table}`, `${copies}.${table}`]
    await runScript(`INSERT INTO ${copy} SELECT * FROM ${original}`)
    const count = statement(`SELECT (SELECT count(*) FROM ${original}), (SELECT count(*) FROM ${copy})`)
    const [[before, after] = []] = await query(sql, count)
    if (before !== after) throw new OperatorError(`${original} has ${before} rows, and its copy ${after}. ${unchanged}`)
    counts.set(table, Number(after))
  }
  // Plans for a table that is known to be empty are slow as soon as it has rows.
  const analyses = tables.filter((table) => counts.get(table) !== 0).map((table) => `ANALYZE ${copies}.${table}`)
  await runScript([complete, ...analyses].join(';\n'))
  const moves = (await readTenantTables(sql))
    .flatMap(({ name, partitions }) => [name, ...partitions])
    .map((name) => `ALTER TABLE ${copies}.${name} SET SCHEMA ${schema}`)
  await runScript([`DROP TABLE ${originals.join(', ')}`, ...moves, `DROP SCHEMA ${copies}`, 'COMMIT'].join(';\n'))
  return { tables, rows: [...counts.values()].reduce((sum, count) => sum + count, 0) }
}

/** The names of the tables that are not partitioned yet. */
function withoutPartitions(tables: readonly TenantTable[], modulus: number): string[] {
  for (const { name, partitions } of tables) {
    if (partitions.length === 0 || partitions.length === modulus) continue
    throw new OperatorError(`The table ${name} has ${partitions.length} partitions. Their number cannot be changed.`)
  }
  return tables.filter(({ partitions }) => partitions.length === 0).map(({ name }) => name)
}
