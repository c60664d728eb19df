import { OperatorError } from '@fusion-gateway/base'
import { literals, modelTables } from '@fusion-gateway/database'
import { type Connector, type Driver, isLockDenied, Sql, statement } from '@fusion-gateway/sql'

interface TenantTable {
  /** As an identifier of SQL, quoted where necessary, without the schema. */
  readonly name: string
  /** The partitions, in the order of their remainders. Empty if the table is not partitioned. */
  readonly partitions: readonly string[]
}

// A unique index of a partitioned table must have the column by which it is partitioned. api_key is a reference table:
// it is found by a hash that is unique over all tenants.
const listTables = statement(`
  SELECT quote_ident(c.relname), ARRAY(
    SELECT quote_ident(p.relname) FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid
    WHERE i.inhparent = c.oid ORDER BY p.relname)
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_app_id'
  WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relname IN (${literals(modelTables)})
    AND EXISTS (SELECT FROM pg_index x WHERE x.indrelid = c.oid AND x.indisprimary)
    AND NOT EXISTS (SELECT FROM pg_index x WHERE x.indrelid = c.oid AND x.indisunique AND a.attnum <> ALL (x.indkey::int2[]))
  ORDER BY 1`)

/** Lists the tables that can be partitioned by tenant, in the schema in which tables are created. */
export async function readTenantTables(sql: Sql): Promise<TenantTable[]> {
  const rows = await sql.query(listTables)
  return rows.map(([name, partitions]) => ({ name: String(name), partitions: partitions as string[] }))
}

/** The schema of the copies, until they replace the tables. */
const copies = 'fusion_partitioning'
const unchanged = 'Nothing has changed.'

export interface PartitionOptions {
  readonly modulus: number
  /** Called before the rows of a table are copied. */
  readonly onTable?: (table: string) => void
}

/**
 * Partitions the tables of tenants by the hash of `tenant_app_id`: one transaction copies their rows to partitioned
 * tables, compares the numbers of rows, and replaces the tables. They can be read until then, and writes wait.
 *
 * @returns the tables and the number of their rows; no table that was partitioned before
 * @throws OperatorError if a copy would lose properties or rows of a table, or other transactions hold locks on the
 *   tables
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
  const sql = new Sql(connector)
  const tables = withoutPartitions(await readTenantTables(sql), modulus)
  if (tables.length === 0) return { tables, rows: 0 }
  const [[schema] = []] = await sql.query(statement('SELECT quote_ident(current_schema())'))
  const originals = tables.map((table) => `${schema}.${table}`)
  // If the session ends before the COMMIT, PostgreSQL undoes everything.
  await runScript(`BEGIN; SET LOCAL lock_timeout = '10s'; SET LOCAL row_security = off; SET LOCAL search_path = ''`)
  await requireNoObstacles(sql, connector, originals)
  await runScript(`LOCK TABLE ${originals.join(', ')} IN EXCLUSIVE MODE; SET LOCAL search_path = ${schema}`)
  const [[create] = []] = await sql.query(writeCreation, [tables, String(modulus)])
  const [[complete] = []] = await sql.query(writeCompletion, [tables])
  await runScript(`CREATE SCHEMA ${copies}; SET LOCAL search_path = ${copies}, ${schema}; ${create}`)
  const counts = new Map<string, number>()
  for (const table of tables) {
    onTable?.(table)
    const [original, copy] = [`${schema}.${table}`, `${copies}.${table}`]
    await runScript(`INSERT INTO ${copy} SELECT * FROM ${original}`)
    const count = statement(`SELECT (SELECT count(*) FROM ${original}), (SELECT count(*) FROM ${copy})`)
    const [[before, after] = []] = await sql.query(count)
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

function withoutPartitions(tables: readonly TenantTable[], modulus: number): string[] {
  for (const { name, partitions } of tables) {
    if (partitions.length === 0 || partitions.length === modulus) continue
    throw new OperatorError(`The table ${name} has ${partitions.length} partitions. Their number cannot be changed.`)
  }
  return tables.filter(({ partitions }) => partitions.length === 0).map(({ name }) => name)
}

// Migrations create none of these, but an operator may have.
const listLost = statement(`
  WITH converted AS (SELECT name, name::regclass AS oid FROM unnest($1::text[]) AS name)
  SELECT format('The table %s has the policy %s. Remove it, and create it again after the conversion.', name, polname)
    FROM pg_policy JOIN converted ON polrelid = converted.oid
  UNION ALL
  SELECT format('The column %s of %s has privileges of its own. Revoke them, and grant them again after the conversion.', attname, name)
    FROM pg_attribute JOIN converted ON attrelid = converted.oid WHERE attacl IS NOT NULL
  UNION ALL
  SELECT format('The table %s is part of the publication %s. Remove it, and add it again after the conversion.', name, pubname)
    FROM pg_publication_rel JOIN converted ON prrelid = converted.oid JOIN pg_publication p ON p.oid = prpubid
  UNION ALL
  SELECT format('The table %s has the storage parameters %s. Reset them, and set them on the partitions after the conversion.', name,
    array_to_string(reloptions, ', ')) FROM pg_class c JOIN converted ON c.oid = converted.oid WHERE reloptions IS NOT NULL
  ORDER BY 1`)

/**
 * Requires, within a transaction, that a conversion loses nothing of the tables, and that nothing depends on them, such
 * as a view.
 *
 * @throws OperatorError with a sentence for each obstacle
 */
async function requireNoObstacles(sql: Sql, { runScript }: Connector, tables: readonly string[]) {
  const lost = await sql.query(listLost, [tables])
  if (lost.length > 0) throw new OperatorError(lost.join('\n'))
  // PostgreSQL knows all objects that depend on a table: it rejects the drop.
  await runScript(`SAVEPOINT drop; DROP TABLE ${tables.join(', ')}; ROLLBACK TO drop`).catch((error: unknown) => {
    if (isLockDenied(error)) throw error
    const { message, detail } = error as Error & { detail?: string }
    throw new OperatorError(`The tables cannot be replaced: ${message}${detail ? `: ${detail}` : ''}`)
  })
}

// PostgreSQL writes the scripts of the conversion from its catalog, so the copies also have what an operator has added.
// It qualifies no name of the schema that `search_path` is set to. With the schema of the copies in front, the same
// text is about them.

/**
 * Writes the script that creates the copies, and their partitions: `user_p00` to `user_p15`. Parameters: the tables and
 * the modulus.
 */
const writeCreation = statement(`
  WITH original AS (SELECT *, quote_ident(relname) AS name FROM pg_class WHERE oid = ANY ($1::text[]::regclass[])),
  partition AS (SELECT *, quote_ident(relname || '_p' || lpad(i::text, length(($2::int - 1)::text), '0')) AS partition
    FROM original, generate_series(0, $2::int - 1) AS i)
  SELECT string_agg(text, E';\\n' ORDER BY position, text) FROM (
    SELECT 1, format('CREATE TABLE %1$s (LIKE %2$I.%1$s INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (tenant_app_id)',
      name, current_schema()) FROM original
    UNION ALL SELECT 2, format('CREATE TABLE %s PARTITION OF %s FOR VALUES WITH (MODULUS %s, REMAINDER %s)', partition, name, $2, i)
      FROM partition
    UNION ALL SELECT 3, format('ALTER TABLE %s OWNER TO %s', name, relowner::regrole) FROM original
    UNION ALL SELECT 3, format('ALTER TABLE %s OWNER TO %s', partition, relowner::regrole) FROM partition
    UNION ALL SELECT 4, format('GRANT %s ON %s TO %s%s', privilege_type, name,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
      CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM original, aclexplode(relacl)
  ) AS step (position, text)`)

/** Writes the script that creates the indexes, foreign keys and triggers of the copies. Parameter: the tables. */
const writeCompletion = statement(`
  WITH original AS (SELECT oid, quote_ident(relname) AS name FROM pg_class WHERE oid = ANY ($1::text[]::regclass[]))
  SELECT string_agg(text, E';\\n' ORDER BY position, text) FROM (
    SELECT CASE contype WHEN 'p' THEN 1 ELSE 3 END,
      format('ALTER TABLE %s ADD CONSTRAINT %I %s', name, conname, pg_get_constraintdef(c.oid, true))
      FROM pg_constraint c JOIN original ON original.oid = conrelid WHERE contype IN ('p', 'f')
    UNION ALL SELECT 2, pg_get_indexdef(indexrelid, 0, true)
      FROM pg_index JOIN original ON original.oid = indrelid WHERE NOT indisprimary
    UNION ALL SELECT 4, pg_get_triggerdef(t.oid, true)
      FROM pg_trigger t JOIN original ON original.oid = tgrelid WHERE NOT tgisinternal
  ) AS step (position, text)`)
