import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { query, statement } from '../statement.ts'
import { type Finding, right, wrong } from './finding.ts'

const findSource = statement(`
  SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_stat_statements'), current_setting('citus.stat_statements_track', true) = 'all'`)

// Statements of this role, with the tables that they name. A table that each node has is read on one of them.
const listStatements = statement(`
  SELECT query, sum(calls)::text FROM citus_stat_statements
  WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND userid = current_user::regrole
    AND partition_key IS NULL AND executor <> 'router'
  GROUP BY query ORDER BY sum(calls) DESC`)

const howTo =
  'Not checked. On the coordinator, add pg_stat_statements after citus to shared_preload_libraries, set citus.stat_statements_track = all, and run: CREATE EXTENSION pg_stat_statements'

/** Lists the statements of this role that Citus has sent to several nodes. */
export async function checkStatements(sql: SqlQueryable): Promise<Finding> {
  const [[hasExtension, isTracked] = []] = await query(sql, findSource)
  if (hasExtension !== true || isTracked !== true) return { part: 'statements', isRight: undefined, text: howTo }
  const statements = await query(sql, listStatements)
  if (statements.length === 0) return right('statements', 'Each statement was sent to one node')
  const lines = statements.map(([text, calls]) => `${calls} times ${String(text).replaceAll(/\s+/g, ' ').trim()}`)
  return wrong('statements', `Sent to several nodes: ${lines.join('; ')}`)
}
