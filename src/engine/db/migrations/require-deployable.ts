import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { OperatorError } from '../../errors.ts'
import { query, statement } from '../statement.ts'

const extensions = ['pg_trgm', 'btree_gin']

const readFacts = statement(`
  SELECT current_user::text, current_database()::text,
    current_setting('transaction_read_only') = 'on',
    has_schema_privilege('public', 'CREATE'),
    has_database_privilege(current_database(), 'CREATE'),
    ARRAY(SELECT name FROM unnest($1::text[]) AS name WHERE name NOT IN (SELECT extname FROM pg_extension)),
    ARRAY(SELECT name FROM unnest($1::text[]) AS name WHERE name NOT IN (SELECT name FROM pg_available_extensions)),
    ARRAY(SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm') AND relname <> '_prisma_migrations'
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
      ORDER BY 1 LIMIT 4),
    EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')`)

/**
 * Requires what the migrations of a new database need, so that an operator reads what to do rather than the first
 * statement that failed.
 *
 * @param isNew whether the database has none of the migrations
 * @throws OperatorError that names what is missing
 */
export async function requireDeployable(sql: SqlQueryable, isNew: boolean): Promise<void> {
  const [facts = []] = await query(sql, readFacts, [extensions])
  const [role, database, isReadOnly, mayCreateTables, mayCreateExtensions] = facts
  const [missing, unavailable, tables] = facts.slice(5, 8) as string[][] as [string[], string[], string[]]
  const hasUnicode = facts[8]
  if (isReadOnly === true) {
    throw new OperatorError('The database accepts no writes: it is a standby, or default_transaction_read_only is on.')
  }
  if (isNew && tables.length > 0) {
    throw new OperatorError(
      `The database ${database} has tables of another program: ${tables.slice(0, 3).join(', ')}${tables.length > 3 ? ', …' : ''}. ` +
        'Create a database for the gateway alone, and set DATABASE_URL to it.',
    )
  }
  if (mayCreateTables !== true) {
    throw new OperatorError(
      `The role ${role} may not create tables in the schema public. The owner of the database can allow it: GRANT USAGE, CREATE ON SCHEMA public TO "${role}"`,
    )
  }
  if (unavailable.length > 0) {
    throw new OperatorError(
      `The server has no extension ${unavailable.join(' and ')}. Install the package of PostgreSQL with the contributed extensions, such as postgresql-contrib.`,
    )
  }
  if (hasUnicode !== true) {
    throw new OperatorError(
      'The server has no collation und-x-icu: it was built without ICU. Use a build with it, as packages have it.',
    )
  }
  if (missing.length > 0 && mayCreateExtensions !== true) {
    throw new OperatorError(
      `The role ${role} may not create extensions in the database ${database}. An administrator can do it: ` +
        missing.map((name) => `CREATE EXTENSION ${name};`).join(' '),
    )
  }
}
