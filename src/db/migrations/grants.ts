import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { query, statement } from '../statement.ts'

const formatGrants = statement(`
  SELECT format(line, current_database(), current_schema(), $1::text) FROM unnest(ARRAY[
    'GRANT CONNECT ON DATABASE %1$I TO %3$I;',
    'GRANT USAGE ON SCHEMA %2$I TO %3$I;',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %2$I TO %3$I;',
    'ALTER DEFAULT PRIVILEGES IN SCHEMA %2$I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %3$I;',
    'REVOKE INSERT, UPDATE, DELETE ON TABLE %2$I._prisma_migrations FROM %3$I;'
  ]) AS line`)

/**
 * Writes the statements with which a role may read and write rows, and do nothing else: what every command needs, except `migrate`.
 * The owner of the tables runs them once. They cover the tables of later migrations.
 */
export async function grantsFor(sql: SqlQueryable, role: string): Promise<string> {
  const rows = await query(sql, formatGrants, [role])
  return rows.map(([line]) => `${line}\n`).join('')
}
