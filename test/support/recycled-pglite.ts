import { readFileSync } from 'node:fs'
import type { PGlite } from '@electric-sql/pglite'
import { createPglite } from '@fusion-gateway/embedded'
import { inject } from 'vitest'
import type {} from './provided.ts'

/** An open embedded database in memory, and what its catalog was when it was new. */
interface Kept {
  readonly pglite: PGlite
  readonly catalog: string
  /** Restores the rows that migrations have written. */
  readonly restore: string
}

/** Those that no test of this worker uses. Opening one takes as much CPU as fifty tests. */
const idle: Kept[] = []
const maxIdle = 2

/**
 * Takes an embedded database in memory that is migrated and empty: one that an earlier test file of the worker has
 * used, or a new one.
 *
 * @returns the database, and what gives it back instead of closing it
 */
export async function takePglite(): Promise<{ readonly pglite: PGlite; giveBack(): Promise<void> }> {
  const kept = idle.pop() ?? (await create())
  return {
    pglite: kept.pglite,
    async giveBack() {
      if (idle.length < maxIdle && (await reset(kept))) idle.push(kept)
      else await kept.pglite.close()
    },
  }
}

/**
 * Takes a database for tests of packages with tables of their own: the schema `public` is empty. The tables of the
 * gateway, and the extensions, are in another schema meanwhile.
 */
export async function takePgliteWithoutTables(): ReturnType<typeof takePglite> {
  const { pglite, giveBack } = await takePglite()
  await pglite.exec('ALTER SCHEMA public RENAME TO gateway; CREATE SCHEMA public; SET search_path TO public, gateway')
  return {
    pglite,
    async giveBack() {
      await pglite.exec('RESET search_path; DROP SCHEMA public CASCADE; ALTER SCHEMA gateway RENAME TO public')
      await giveBack()
    },
  }
}

async function create(): Promise<Kept> {
  const pglite = await createPglite({ loadDataDir: new Blob([readFileSync(inject('template').dumpFile)]) })
  const { rows } = await pglite.query<{ row: string }>('SELECT quote_literal(to_json(s)) AS row FROM event_state AS s')
  const restore = rows.map(
    ({ row }) => `INSERT INTO event_state SELECT * FROM json_populate_record(NULL::event_state, ${row});`,
  )
  return { pglite, catalog: await readCatalog(pglite), restore: restore.join('') }
}

/** Empties a database. Returns false if a test has changed more than rows and settings of its session. */
async function reset({ pglite, catalog, restore }: Kept): Promise<boolean> {
  try {
    // DISCARD cannot be one of several statements.
    await pglite.exec('DISCARD ALL')
    await pglite.exec(`SET TIME ZONE 'UTC'`)
    if ((await readCatalog(pglite)) !== catalog) return false
    await pglite.exec(`TRUNCATE ${await readTables(pglite)} RESTART IDENTITY CASCADE; ${restore}`)
    return true
  } catch {
    return false
  }
}

/** The tables that have rows or statistics, or had some. Most files write to few, and each takes a millisecond. */
async function readTables(pglite: PGlite): Promise<string> {
  const { rows } = await pglite.query<{ names: string }>(
    `SELECT string_agg(oid::regclass::text, ', ') AS names FROM pg_class
     WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname <> '_prisma_migrations' AND (pg_relation_size(oid) > 0 OR reltuples >= 0)`,
  )
  return rows[0]?.names ?? ''
}

/** A digest of the tables, columns, indexes, constraints, functions, triggers, roles and settings. */
async function readCatalog(pglite: PGlite): Promise<string> {
  const rowsOf = (from: string) => `(SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM (${from}) AS t)`
  const { rows } = await pglite.query<{ digest: string }>(
    `SELECT concat_ws(' ',
      ${rowsOf(`SELECT oid, relname, relkind, relacl, relrowsecurity, reltriggers FROM (SELECT *, relhastriggers AS reltriggers FROM pg_class) AS c WHERE relnamespace = 'public'::regnamespace`)},
      ${rowsOf(`SELECT attrelid, attname, atttypid, attnotnull FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid WHERE relnamespace = 'public'::regnamespace`)},
      ${rowsOf('SELECT oid, conname FROM pg_constraint')},
      ${rowsOf('SELECT oid, tgname, tgenabled FROM pg_trigger')},
      ${rowsOf(`SELECT oid, proname, md5(prosrc), proconfig FROM pg_proc WHERE pronamespace = 'public'::regnamespace`)},
      ${rowsOf('SELECT setdatabase, setrole, setconfig FROM pg_db_role_setting')},
      ${rowsOf('SELECT oid, rolname FROM pg_roles')},
      ${rowsOf('SELECT migration_name, checksum FROM _prisma_migrations')}) AS digest`,
  )
  return rows[0]?.digest ?? ''
}
