import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { literals, modelTables } from '../own-objects.ts'
import { query, statement } from '../statement.ts'

/** A table whose rows belong to tenants. */
export interface TenantTable {
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
export async function readTenantTables(sql: SqlQueryable): Promise<TenantTable[]> {
  const rows = await query(sql, listTables)
  return rows.map(([name, partitions]) => ({ name: String(name), partitions: partitions as string[] }))
}
