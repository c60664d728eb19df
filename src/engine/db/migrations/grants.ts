import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { OperatorError } from '../../errors.ts'
import { query, statement } from '../statement.ts'

const formatGrants = statement(`
  SELECT format(line, current_database(), current_schema(), rolname, current_user) FROM pg_roles, unnest(ARRAY[
    'GRANT CONNECT ON DATABASE %1$I TO %3$I;',
    'GRANT USAGE ON SCHEMA %2$I TO %3$I;',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %2$I TO %3$I;',
    'GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA %2$I TO %3$I;',
    'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA %2$I TO %3$I;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE %4$I IN SCHEMA %2$I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %3$I;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE %4$I IN SCHEMA %2$I GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO %3$I;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE %4$I IN SCHEMA %2$I GRANT EXECUTE ON FUNCTIONS TO %3$I;',
    'REVOKE INSERT, UPDATE, DELETE ON TABLE %2$I._prisma_migrations FROM %3$I;'
  ]) AS line WHERE rolname = $1`)

/**
 * Writes the statements that allow a role to read and write rows, and nothing else. That is enough for every command
 * except `migrate`. The owner of the tables runs them once. They cover what later migrations create if the role that is
 * connected now applies them.
 *
 * @throws OperatorError if the role does not exist
 */
export async function grantsFor(sql: SqlQueryable, role: string): Promise<string> {
  const rows = await query(sql, formatGrants, [role])
  if (rows.length === 0) throw new OperatorError(`There is no role ${role}. Create it first.`)
  return rows.map(([line]) => `${line}\n`).join('')
}
