import { OperatorError } from '../../errors.ts'
import { type Connector, createAdapters } from '../adapter.ts'
import type { Driver } from '../driver.ts'
import { isLockDenied } from '../errors.ts'
import { query, statement } from '../statement.ts'
import { type Copy, copyRows, verifyCopy } from './copy-rows.ts'
import { type Definition, readDefinition, writeTrigger } from './definition.ts'
import { findObstacles } from './obstacles.ts'
import { readTenantTables, type TenantTable } from './tenant-tables.ts'

/** The schema of the copies, and of the function that rejects writes. Dropping it undoes everything but the last step. */
const workSchema = 'fusion_partitioning'

/** How long the conversion waits for transactions that use the tables. */
const lockTimeout = '10s'

export interface PartitionOptions {
  /** The number of partitions of each table. */
  readonly modulus: number
  /** Called with the rows of a table that are copied, and with all that it has. */
  readonly onProgress?: (table: string, copied: number, total: number) => Promise<void>
}

/** The tables that a conversion has partitioned. */
export interface Partitioned {
  readonly tables: readonly string[]
  /** The rows of all of them. */
  readonly rows: number
}

/**
 * Partitions the tables of tenants by the hash of `tenant_app_id`. The rows are copied in batches, each of which is committed, so a
 * conversion that is interrupted continues where it was. From its beginning until its end the tables can be read and not written.
 * At the end one transaction replaces the tables by their copies, if the rows of both are equal.
 *
 * @returns nothing for tables that were partitioned before
 * @throws OperatorError if a copy would lose something that the tables have, if a conversion with another modulus has begun, or if a
 *   copy differs, or if other transactions keep the locks that it needs
 */
export function partitionTables(driver: Driver, options: PartitionOptions): Promise<Partitioned> {
  return driver
    .exclusively((connector) => partition(connector, options))
    .catch((error: unknown) => {
      throw isLockDenied(error) ? wasInterrupted(error as Error) : error
    })
}

function wasInterrupted(error: Error): OperatorError {
  return new OperatorError(
    `Other transactions hold locks on the tables: ${error.message}. No row is lost. It is safe to run the command again: it continues where it was.`,
    { cause: error },
  )
}

async function partition(connector: Connector, { modulus, onProgress }: PartitionOptions): Promise<Partitioned> {
  const sql = await createAdapters(connector).connect()
  const [[schema] = []] = await query(sql, statement('SELECT quote_ident(current_schema())'))
  const from = String(schema)
  const tables = withoutPartitions(await readTenantTables(sql), modulus)
  if (tables.length === 0) return { tables, rows: 0 }
  // PostgreSQL qualifies every name in a definition that it prints.
  await connector.runScript(`SET search_path = ''; SET lock_timeout = '${lockTimeout}'`)
  const obstacles = await findObstacles(sql, connector, from, tables)
  if (obstacles.length > 0) throw new OperatorError(obstacles.join('\n'))

  await rejectWrites(connector, from, tables)
  const begun = await readTenantTables(sql, workSchema)
  const definitions = new Map<string, Definition>()
  for (const table of tables) {
    definitions.set(table, await readDefinition(sql, table, { from, to: workSchema, modulus, copies: tables }))
  }
  for (const [table, { create }] of definitions) {
    const copy = begun.find(({ name }) => name === table)
    if (copy && copy.partitions.length !== modulus) throw otherModulus(copy.partitions.length)
    if (!copy) await connector.runScript(create)
  }
  const copyOf = (table: string): Copy => ({ original: `${from}.${table}`, copy: `${workSchema}.${table}` })
  for (const table of tables) {
    await copyRows(sql, copyOf(table), async (copied, total) => onProgress?.(table, copied, total))
  }
  // A foreign key needs the rows that it refers to.
  for (const [table, { rest }] of definitions) {
    const existing = await query(sql, listParts, [copyOf(table).copy])
    for (const [name, create] of rest) {
      if (!existing.some(([part]) => part === name)) await connector.runScript(create)
    }
  }

  const rows = new Map<string, number>()
  for (const table of tables) rows.set(table, await verifyCopy(sql, copyOf(table)))
  await replaceTables(connector, from, await readTenantTables(sql, workSchema))
  // Plans for a table that is known to be empty are slow as soon as it has rows.
  for (const [table, count] of rows) if (count > 0) await connector.runScript(`ANALYZE ${from}.${table}`)
  return { tables, rows: [...rows.values()].reduce((sum, count) => sum + count, 0) }
}

/**
 * Ends a conversion that was interrupted, and removes the copies. The tables can be written again.
 *
 * @returns false if none had begun
 */
export function cancelPartitioning(driver: Driver): Promise<boolean> {
  return driver.exclusively(async (connector) => {
    const sql = await createAdapters(connector).connect()
    const [[hasBegun] = []] = await query(sql, statement('SELECT to_regnamespace($1) IS NOT NULL'), [workSchema])
    // The triggers go with their function.
    if (hasBegun === true) await connector.runScript(`DROP SCHEMA ${workSchema} CASCADE`)
    return hasBegun === true
  })
}

/** The names of the tables that are not partitioned yet. */
function withoutPartitions(tables: readonly TenantTable[], modulus: number): string[] {
  for (const { name, partitions } of tables) {
    if (partitions.length === 0 || partitions.length === modulus) continue
    throw new OperatorError(`The table ${name} has ${partitions.length} partitions. Their number cannot be changed.`)
  }
  return tables.filter(({ partitions }) => partitions.length === 0).map(({ name }) => name)
}

function otherModulus(begun: number): OperatorError {
  return new OperatorError(
    `A conversion to ${begun} partitions has begun. Continue it with --modulus ${begun}, or end it with --cancel.`,
  )
}

/** A gateway that still runs answers writes with 503, because the code says that a lock is not available. */
function rejectWrites({ runScript }: Connector, from: string, tables: readonly string[]): Promise<void> {
  const createFunction = `
    CREATE SCHEMA IF NOT EXISTS ${workSchema};
    CREATE OR REPLACE FUNCTION ${workSchema}.reject_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'The table % is being partitioned and cannot be written', TG_TABLE_NAME USING ERRCODE = 'lock_not_available';
    END $$`
  const createTriggers = tables.map(
    (table) => `
    DROP TRIGGER IF EXISTS ${writeTrigger} ON ${from}.${table};
    CREATE TRIGGER ${writeTrigger} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${from}.${table}
      FOR EACH STATEMENT EXECUTE FUNCTION ${workSchema}.reject_write()`,
  )
  return runScript([createFunction, ...createTriggers].join(';'))
}

/** The names of the indexes, constraints and triggers of a table. */
const listParts = statement(`
  SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = $1::regclass
  UNION ALL SELECT conname FROM pg_constraint WHERE conrelid = $1::regclass
  UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal`)

/** PostgreSQL runs the script as one transaction. */
function replaceTables({ runScript }: Connector, from: string, copies: readonly TenantTable[]): Promise<void> {
  return runScript(
    [
      `DROP TABLE ${copies.map(({ name }) => `${from}.${name}`).join(', ')}`,
      ...copies
        .flatMap(({ name, partitions }) => [name, ...partitions])
        .map((name) => `ALTER TABLE ${workSchema}.${name} SET SCHEMA ${from}`),
      `DROP SCHEMA ${workSchema} CASCADE`,
    ].join(';\n'),
  )
}
