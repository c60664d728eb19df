import { isOwnFunction, literals, ownSequences } from '@fusion-gateway/database'
import { type Sql, statement } from '@fusion-gateway/sql'
import { readDistributedFunctions } from './each-server.ts'
import { findForeignNumbers, isPlacedAsNoted, readTables } from './layout.ts'
import { runOnNodes } from './nodes.ts'

/** One part of what a distributed database has to fulfil. */
export interface Check {
  readonly part: string
  /** Undefined: it could not be checked. */
  readonly ok: boolean | undefined
  /** What was found, and what an operator has to do. */
  readonly text: string
}

const right = (part: string, text: string): Check => ({ part, ok: true, text })
const wrong = (part: string, text: string): Check => ({ part, ok: false, text })

const again = 'Stop all gateways and workers, and run: npm run fusion -- migrate distribute'

/** Checks a distributed database. It changes nothing, and gateways can run meanwhile. */
export async function verifyDistribution(sql: Sql): Promise<Check[]> {
  return [
    await checkTables(sql),
    await checkNumbers(sql),
    await checkPlaces(sql),
    await checkNodes(sql),
    await checkFunctions(sql),
    await checkStatements(sql),
  ]
}

async function checkTables(sql: Sql): Promise<Check> {
  const tables = await readTables(sql)
  const missing = tables.filter(({ isDistributed }) => !isDistributed).map(({ name }) => name)
  if (missing.length > 0) return wrong('tables', `Not distributed: ${missing.join(', ')}. ${again}`)
  const ofTenants = tables.filter(({ isOfTenants }) => isOfTenants).length
  return right('tables', `${ofTenants} are distributed by tenant, ${tables.length - ofTenants} are on each node`)
}

async function checkNumbers(sql: Sql): Promise<Check> {
  const nodes = await findForeignNumbers(sql)
  if (nodes.length === 0) return right('numbers', 'Each node numbers its events itself')
  return wrong('numbers', `Restored into another server: ${nodes.join(', ')}. Events could be missed. ${again}`)
}

async function checkPlaces(sql: Sql): Promise<Check> {
  if (await isPlacedAsNoted(sql)) return right('shards', 'The shards are where they were noted')
  return wrong('shards', `Shards were moved without the gateway. Events could be missed. ${again}`)
}

// Our functions and sequences, and the columns of the state of the event log.
const describe = `
  SELECT coalesce(json_object_agg(name, definition), '{}')::text FROM (
    SELECT p.oid::regprocedure::text, md5(pg_get_functiondef(p.oid)) FROM pg_proc p
    WHERE ${isOwnFunction('p.oid')}
    UNION ALL SELECT 'the sequence ' || oid::regclass, '' FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relname IN (${literals(ownSequences.keys())})
    UNION ALL SELECT 'event_state.' || attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = 'event_state'::regclass AND attnum > 0 AND NOT attisdropped
  ) AS found (name, definition)`

/** Compares the nodes with this server. */
async function checkNodes(sql: Sql): Promise<Check> {
  const [[text] = []] = await sql.query(statement(describe))
  const expected = Object.entries(JSON.parse(String(text)) as Record<string, string>)
  const problems: string[] = []
  for (const { node, value } of await runOnNodes(sql, describe)) {
    const found = JSON.parse(value) as Record<string, string>
    const others = expected.filter(([name, definition]) => found[name] !== definition).map(([name]) => name)
    if (others.length > 0) problems.push(`${node} lacks or has otherwise: ${others.join(', ')}`)
  }
  if (problems.length === 0) return right('nodes', 'Each node has the functions and sequences of this server')
  return wrong('nodes', `${problems.join('; ')}. ${again}`)
}

const readBodies = statement(`SELECT proname::text, prosrc FROM pg_proc WHERE ${isOwnFunction('oid')}`)

/** Compares the functions of the event log with those of this version. Those of one server lose events. */
async function checkFunctions(sql: Sql): Promise<Check> {
  const bodies = new Map((await sql.query(readBodies)).map(([name, body]) => [String(name), String(body)]))
  const others = readDistributedFunctions()
    .filter(({ name, text }) => !text.includes(`$$${bodies.get(name)}$$`))
    .map(({ name }) => name)
  if (others.length === 0) return right('functions', 'The functions of the event log are those of this version')
  return wrong('functions', `Not of this version: ${others.join(', ')}. Run: npm run fusion -- migrate deploy`)
}

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
async function checkStatements(sql: Sql): Promise<Check> {
  const [[hasExtension, isTracked] = []] = await sql.query(findSource)
  if (hasExtension !== true || isTracked !== true) return { part: 'statements', ok: undefined, text: howTo }
  const ofTenants = (await readTables(sql)).filter(({ isOfTenants }) => isOfTenants).map(({ name }) => name)
  const reads = new RegExp(`\\b(FROM|JOIN|UPDATE|INTO) "?(${ofTenants.join('|').replaceAll('"', '')})\\b`)
  const lines = (await sql.query(listStatements))
    .map(([text, calls]) => ({ text: String(text).replaceAll(/\s+/g, ' ').trim(), calls }))
    .filter(({ text }) => reads.test(text) && !known.some((pattern) => pattern.test(text)))
    .map(({ text, calls }) => `${calls} times ${text}`)
  if (lines.length === 0) return right('statements', 'Each was sent to one node, except for known ones of workers')
  return wrong('statements', `Sent to several nodes: ${lines.join('; ')}`)
}
