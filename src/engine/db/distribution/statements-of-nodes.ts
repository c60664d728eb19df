import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { query, statement } from '../statement.ts'
import { type Finding, right, wrong } from './finding.ts'
import { readTables } from './layout.ts'

const findSource = statement(`
  SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_stat_statements'), current_setting('citus.stat_statements_track', true) = 'all'`)

// Of this role. Citus has no key for statements that it sends to several nodes, and for those of tables that each has.
const listStatements = statement(`
  SELECT query, sum(calls)::text FROM citus_stat_statements
  WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND userid = current_user::regrole
    AND partition_key IS NULL
  GROUP BY query ORDER BY sum(calls) DESC`)

/** Workers list the tenants with work, remove old rows by their time alone, and metrics count jobs. */
const known = [
  /^SELECT (DISTINCT tenant_app_id|job_type, tenant_app_id) FROM /,
  /^(SELECT \w+|DELETE) FROM \w+ WHERE \w+ < now\(\) - interval /,
  /\bcount\(\*\) FROM job GROUP BY status\b|\bnow\(\) - min\(run_at\)/,
]

const howTo =
  'Not checked. On the coordinator, add pg_stat_statements after citus to shared_preload_libraries, set citus.stat_statements_track = all, and run: CREATE EXTENSION pg_stat_statements'

/** Lists the statements of this role that Citus has sent to several nodes. */
export async function checkStatements(sql: SqlQueryable): Promise<Finding> {
  const [[hasExtension, isTracked] = []] = await query(sql, findSource)
  if (hasExtension !== true || isTracked !== true) return { part: 'statements', isRight: undefined, text: howTo }
  const ofTenants = (await readTables(sql)).filter(({ isOfTenants }) => isOfTenants).map(({ name }) => name)
  const reads = new RegExp(`\\b(FROM|JOIN|UPDATE|INTO) "?(${ofTenants.join('|').replaceAll('"', '')})\\b`)
  const lines = (await query(sql, listStatements))
    .map(([text, calls]) => ({ text: String(text).replaceAll(/\s+/g, ' ').trim(), calls }))
    .filter(({ text }) => reads.test(text) && !known.some((pattern) => pattern.test(text)))
    .map(({ text, calls }) => `${calls} times ${text}`)
  if (lines.length === 0) return right('statements', 'Each was sent to one node, except for known ones of workers')
  return wrong('statements', `Sent to several nodes: ${lines.join('; ')}`)
}
