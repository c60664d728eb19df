import { readFileSync } from 'node:fs'
import path from 'node:path'
import { isOwnFunction, literals, ownSequences } from '@fusion-gateway/database'
import { type Sql, splitScript, statement } from '@fusion-gateway/sql'
import { runOnNodes } from './nodes.ts'

/** Runs one statement. Citus sends its text to the nodes, so it is the only one of its query. */
export type Run = (text: string) => Promise<void>

const functionsFile = path.resolve(import.meta.dirname, '../../../prisma/distributed.sql')

const listOwn = statement(`
  WITH own AS (
    SELECT oid, oid::regclass::text AS name, relkind, relowner, relacl FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relname IN (${literals([...ownSequences.keys(), 'event_state'])})
  ), lines (place, line) AS (
    SELECT 1, format('CREATE SEQUENCE IF NOT EXISTS %s CACHE %s', name, seqcache) FROM own JOIN pg_sequence ON seqrelid = oid
    UNION ALL SELECT 2, format('ALTER TABLE event_state ADD COLUMN IF NOT EXISTS %I %s %s %s', attname, format_type(atttypid, atttypmod),
      'DEFAULT ' || pg_get_expr(adbin, adrelid), CASE WHEN attnotnull THEN 'NOT NULL' END)
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = 'event_state'::regclass AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT 3, format('ALTER TABLE %s OWNER TO %s', name, relowner::regrole) FROM own
    UNION ALL SELECT 4, format('GRANT %s ON %s %s TO %s', privilege_type, CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, name,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
    FROM own, aclexplode(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner)))
  )
  SELECT string_agg(format('EXECUTE %L;', line), ' ' ORDER BY place, line) FROM lines`)

// What a move knows meanwhile (raise-numbers.ts). The functions of the log read it on each server.
const createRaise = `DO $node$ BEGIN
  IF to_regclass('event_raise') IS NOT NULL THEN RETURN; END IF;
  PERFORM set_config('citus.enable_ddl_propagation', 'off', true);
  CREATE TABLE event_raise (id text PRIMARY KEY DEFAULT 'log', next bigint, since bigint);
  INSERT INTO event_raise DEFAULT VALUES;
  GRANT SELECT ON event_raise TO PUBLIC;
END $node$`

/**
 * Gives each node what each server has for itself, as this server has it: the state of the event log, and sequences.
 * It can be repeated. This server stays as it is, and may have changed it in a transaction under way.
 */
export async function equipNodes(sql: Sql): Promise<void> {
  await runOnNodes(sql, createRaise)
  const [[own] = []] = await sql.query(listOwn)
  await runOnNodes(
    sql,
    `DO $node$ BEGIN
    IF (SELECT groupid FROM pg_dist_local_group) = 0 THEN RETURN; END IF;
    PERFORM set_config('citus.enable_ddl_propagation', 'off', true), set_config('client_min_messages', 'error', true),
      set_config('lock_timeout', '10s', true);
    CREATE TABLE IF NOT EXISTS event_state (id text PRIMARY KEY DEFAULT 'log', server bigint NOT NULL, "offset" bigint NOT NULL DEFAULT 0);
    ${own}
    INSERT INTO event_state (server) SELECT system_identifier FROM pg_control_system() ON CONFLICT (id) DO NOTHING;
  END $node$`,
  )
}

/**
 * Lets each session of the gateway on any server have the settings on which texts of times depend: those of its own
 * session do not reach the nodes.
 */
export async function setDatabases(sql: Sql): Promise<void> {
  await runOnNodes(
    sql,
    `DO $node$ BEGIN
    PERFORM set_config('citus.enable_ddl_propagation', 'off', true);
    EXECUTE format('ALTER DATABASE %I SET TimeZone = ''UTC''', current_database());
    EXECUTE format('ALTER DATABASE %I SET DateStyle = ''ISO, MDY''', current_database());
    EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''read committed''', current_database());
    EXECUTE format('ALTER DATABASE %I SET jit = off', current_database());
  END $node$`,
  )
}

// A role that another program uses can be missing on a node.
const listGrants = statement(`
  SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC;', datname) || string_agg(CASE grantee
    WHEN 0 THEN format('GRANT %s ON DATABASE %I TO PUBLIC;', privilege_type, datname)
    ELSE format('IF to_regrole(%L) IS NOT NULL THEN GRANT %s ON DATABASE %I TO %s; END IF;', grantee::regrole, privilege_type, datname, grantee::regrole)
  END, ' ')
  FROM pg_database, aclexplode(datacl) WHERE datname = current_database() GROUP BY datname`)

/**
 * Lets the roles connect to a node that may connect to this server, and takes that right from PUBLIC if it lacks it
 * here. Citus does so only for grants that follow, on the nodes that it has then.
 */
export async function copyDatabaseGrants(sql: Sql): Promise<void> {
  const [[grants] = []] = await sql.query(listGrants)
  // Nobody has changed the privileges.
  if (grants === undefined) return
  await runOnNodes(
    sql,
    `DO $node$ BEGIN
    IF (SELECT groupid FROM pg_dist_local_group) = 0 THEN RETURN; END IF;
    PERFORM set_config('citus.enable_ddl_propagation', 'off', true);
    ${grants}
  END $node$`,
  )
}

// Those without others in their signature first.
const listFunctions = statement(`
  SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE ${isOwnFunction('p.oid')}
  ORDER BY prorettype = 'trigger'::regtype, p.oid`)

const listForeign = statement(`
  SELECT format('ALTER FUNCTION %s OWNER TO %s', p.oid::regprocedure, relowner::regrole) FROM pg_proc p, pg_class c
  WHERE ${isOwnFunction('p.oid')} AND c.oid = 'event_state'::regclass AND proowner <> relowner`)

/**
 * Creates our functions again: Citus then creates them on all nodes. They belong to the owner of the tables, who
 * replaces them when migrations are applied.
 */
export async function createFunctions(sql: Sql, run: Run): Promise<void> {
  await run('SET check_function_bodies = off')
  await run('SET client_min_messages = error')
  for (const [definition] of await sql.query(listFunctions)) await run(String(definition))
  await replaceFunctions(run)
  for (const [text] of await sql.query(listForeign)) await run(String(text))
}

/** Replaces the functions of one server by those of a distributed database, on all nodes. */
export async function replaceFunctions(run: Run): Promise<void> {
  for (const { text } of readDistributedFunctions()) await run(text)
}

/** The functions of a distributed database: the names and statements that create them. */
export function readDistributedFunctions(): { readonly name: string; readonly text: string }[] {
  return splitScript(readFileSync(functionsFile, 'utf8')).map((text) => {
    return { name: /^CREATE OR REPLACE FUNCTION (\w+)/.exec(text)?.[1] ?? '', text }
  })
}
