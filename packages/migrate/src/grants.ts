import { OperatorError } from '@fusion-gateway/base'
import { calledFunctions, isOwnFunction, literals, modelTables, ownSequences } from '@fusion-gateway/database'
import { type Sql, statement } from '@fusion-gateway/sql'

// Citus takes one table at a time. An owner may not grant privileges on objects of other programs, so none but ours are
// named, and what a superuser has created for a distributed database is granted to all.
const nameArray = (names: Iterable<string>) => `ARRAY(
  SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname IN (${literals(names)})
    AND pg_has_role(relowner, 'USAGE') ORDER BY 1)`
const listOf = (names: string) =>
  `(SELECT string_agg(format('%I.%I', current_schema(), name), ', ') FROM unnest(${names}) AS name)`

const formatGrants = statement(`
  SELECT format(line, current_database(), current_schema(), rolname, current_user,
    (SELECT string_agg(format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I.%I TO %I;', current_schema(), name, rolname), E'\n')
      FROM unnest(${nameArray(modelTables)}) AS name),
    ${listOf(nameArray(ownSequences.keys()))},
    (SELECT string_agg(format('%I.%I(%s)', current_schema(), proname, pg_get_function_identity_arguments(oid)), ', ' ORDER BY proname)
      FROM pg_proc WHERE ${isOwnFunction('oid', calledFunctions)}),
    ${listOf(nameArray(['_prisma_migrations', 'event_raise']))}) FROM pg_roles, unnest(ARRAY[
    'GRANT CONNECT ON DATABASE %1$I TO %3$I;',
    'GRANT USAGE ON SCHEMA %2$I TO %3$I;',
    '%5$s',
    'GRANT USAGE, SELECT, UPDATE ON SEQUENCE %6$s TO %3$I;',
    'GRANT EXECUTE ON FUNCTION %7$s TO %3$I;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE %4$I IN SCHEMA %2$I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %3$I;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE %4$I IN SCHEMA %2$I GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO %3$I;',
    'ALTER DEFAULT PRIVILEGES FOR ROLE %4$I IN SCHEMA %2$I GRANT EXECUTE ON FUNCTIONS TO %3$I;',
    'GRANT SELECT ON %8$s TO %3$I;',
    'REVOKE INSERT, UPDATE, DELETE ON TABLE %2$I._prisma_migrations FROM %3$I;'
  ]) AS line WHERE rolname = $1`)

// Citus does not know what each node has for itself.
const formatGrantsOfNodes = statement(`
  SELECT format('SELECT run_command_on_workers(%L);', format('GRANT %s ON %s %I.%I TO %I', granted, kind, current_schema(), name, $1::text))
  FROM (
    SELECT 'SELECT, INSERT, UPDATE, DELETE', 'TABLE', 'event_state'
    UNION ALL SELECT 'USAGE, SELECT, UPDATE', 'SEQUENCE', name FROM unnest(${nameArray(ownSequences.keys())}) AS name
  ) AS objects (granted, kind, name)`)

/**
 * Writes the statements that allow a role to read and write rows, and nothing else. That is enough for every command
 * except `migrate`. The owner of the tables runs them once. They cover what later migrations create if the role that is
 * connected now applies them.
 *
 * @param isDistributed whether the tables are on several servers
 * @throws OperatorError if the role does not exist
 */
export async function grantsFor(sql: Sql, role: string, isDistributed: boolean): Promise<string> {
  const rows = await sql.query(formatGrants, [role])
  if (rows.length === 0) throw new OperatorError(`There is no role ${role}. Create it first.`)
  if (isDistributed) rows.push(...(await sql.query(formatGrantsOfNodes, [role])))
  return rows.map(([line]) => `${line}\n`).join('')
}
