import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { query, statement } from '../statement.ts'

/** The statements that create a partitioned copy of a table in another schema, without its rows. */
export interface Definition {
  /** The table, its partitions and its primary key, with the owner and the privileges of the original. */
  readonly create: string
  /** A statement for each further index, foreign key and trigger, under its name. */
  readonly rest: ReadonlyMap<string, string>
}

const readOwner = statement(`SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = $1::regclass`)

const listPrivileges = statement(`
  SELECT format('GRANT %s ON %%s TO %s%s', p.privilege_type, CASE p.grantee WHEN 0 THEN 'PUBLIC' ELSE p.grantee::regrole::text END,
    CASE WHEN p.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
  FROM pg_class c CROSS JOIN aclexplode(c.relacl) p WHERE c.oid = $1::regclass`)

const readPrimaryKey = statement(`
  SELECT format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)) FROM pg_constraint
  WHERE conrelid = $1::regclass AND contype = 'p'`)

const listIndexes = statement(`
  SELECT relname, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE indrelid = $1::regclass AND NOT indisprimary ORDER BY 1`)

const listForeignKeys = statement(`
  SELECT conname, format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)) FROM pg_constraint
  WHERE conrelid = $1::regclass AND contype = 'f' ORDER BY 1`)

/** The trigger that rejects writes while a table is copied. */
export const writeTrigger = 'fusion_partitioning'

const listTriggers = statement(`
  SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger
  WHERE tgrelid = $1::regclass AND NOT tgisinternal AND tgname <> '${writeTrigger}' ORDER BY 1`)

/** Names the partitions of a table: `user_p00` to `user_p15` for `"user"` and 16. */
function namePartitions(table: string, modulus: number): string[] {
  const bare = table.replaceAll('"', '')
  const digits = String(modulus - 1).length
  return Array.from({ length: modulus }, (_, remainder) => `${bare}_p${String(remainder).padStart(digits, '0')}`)
}

/**
 * Reads the definition of a table as that of a table which is partitioned by the hash of `tenant_app_id`.
 *
 * @param sql a session with an empty search path, so that PostgreSQL qualifies every name
 * @param options.copies the tables that are copied. Foreign keys to them refer to their copies
 */
export async function readDefinition(
  sql: SqlQueryable,
  table: string,
  { from, to, modulus, copies }: { from: string; to: string; modulus: number; copies: readonly string[] },
): Promise<Definition> {
  const original = `${from}.${table}`
  const copy = `${to}.${table}`
  const [[owner] = []] = await query(sql, readOwner, [original])
  const [[primaryKey] = []] = await query(sql, readPrimaryKey, [original])
  const privileges = await query(sql, listPrivileges, [original])
  const names = namePartitions(table, modulus).map((name) => `${to}.${name}`)
  const toCopies = (text: string) =>
    copies.reduce(
      (changed, name) => changed.replace(` REFERENCES ${from}.${name}(`, ` REFERENCES ${to}.${name}(`),
      text,
    )
  return {
    create: [
      `CREATE TABLE ${copy} (LIKE ${original} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (tenant_app_id)`,
      `ALTER TABLE ${copy} ADD ${primaryKey}`,
      ...names.map(
        (name, remainder) =>
          `CREATE TABLE ${name} PARTITION OF ${copy} FOR VALUES WITH (MODULUS ${modulus}, REMAINDER ${remainder})`,
      ),
      ...[copy, ...names].map((name) => `ALTER TABLE ${name} OWNER TO ${owner}`),
      ...privileges.flatMap(([grant]) => String(grant).replace('%s', copy)),
    ].join(';\n'),
    rest: new Map([
      ...(await query(sql, listIndexes, [original])).map(
        ([name, text]) => [String(name), String(text).replace(/ ON .+? USING /, ` ON ${copy} USING `)] as const,
      ),
      ...(await query(sql, listForeignKeys, [original])).map(
        ([name, text]) => [String(name), `ALTER TABLE ${copy} ADD ${toCopies(String(text))}`] as const,
      ),
      ...(await query(sql, listTriggers, [original])).map(
        ([name, text]) => [String(name), String(text).replace(` ON ${original} `, ` ON ${copy} `)] as const,
      ),
    ]),
  }
}
