import { type Sql, statement } from '@fusion-gateway/sql'
import type { Logger } from 'pino'
import { calledFunctions, isOwnFunction, literals, ownSequences, ownTables } from './own-objects.ts'

// A policy for every row hides none.
const hidesRows = `row_security_active(oid) AND NOT EXISTS (
  SELECT FROM pg_policy WHERE polrelid = pg_class.oid AND polpermissive AND polcmd = '*' AND pg_get_expr(polqual, polrelid) = 'true'
    AND EXISTS (SELECT FROM unnest(polroles) AS role WHERE role = 0 OR pg_has_role(role, 'USAGE')))`

const used = [...ownTables, ...ownSequences]
  .flatMap(([name, privileges]) => privileges.map((privilege) => `(${literals([name, privilege])})`))
  .join(', ')

const listProblems = statement(`
  SELECT CASE WHEN pg_is_in_recovery() THEN 'the database server is a standby'
    ELSE 'transactions are read-only (default_transaction_read_only)' END
  WHERE current_setting('transaction_read_only') = 'on'
  UNION ALL
  SELECT format('%s is %s, so %s (only a superuser sets it: ALTER ROLE or ALTER DATABASE … RESET %1$s)', setting, current_setting(setting), effect)
  FROM (VALUES ('session_replication_role', 'origin', 'changes write no events'), ('zero_damaged_pages', 'off', 'damaged pages lose their rows'),
    ('ignore_checksum_failure', 'off', 'damaged pages are read')) AS unpinned (setting, right_value, effect)
  WHERE current_setting(setting) <> right_value
  UNION ALL
  SELECT format('the role %s may not %s %s', current_user, privilege, relname)
  FROM (VALUES ${used}) AS used (name, privilege) JOIN pg_class ON relname = name
  WHERE relnamespace = 'public'::regnamespace
    AND NOT CASE relkind WHEN 'S' THEN has_sequence_privilege(oid, privilege) ELSE has_table_privilege(oid, privilege) END
  UNION ALL
  SELECT format('the role %s may not call %s', current_user, proname)
  FROM pg_proc WHERE ${isOwnFunction('oid', calledFunctions)} AND NOT has_function_privilege(oid, 'EXECUTE')
  UNION ALL
  SELECT format('row-level security hides rows of %s from the role %s', relname, current_user)
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname IN (${literals(ownTables.keys())}) AND relrowsecurity AND ${hidesRows}`)

/** Lists, for an operator, why requests would fail although the server answers. */
export async function readWriteProblems(sql: Sql): Promise<string[]> {
  return (await sql.query(listProblems)).map(([problem]) => String(problem))
}

/** Writes an error to the log for each of them, at a start. The process goes on, because an operator can change it. */
export async function logWriteProblems(sql: Sql, log: Pick<Logger, 'error'>): Promise<void> {
  for (const problem of await readWriteProblems(sql)) log.error({}, `requests will fail: ${problem}`)
}
