import pg from 'pg'
import { expect } from 'vitest'

/** A session of a role to which nothing was granted. */
export interface Stranger {
  readonly client: pg.Client
  /** The number of rows of a statement, or the message of its error. */
  outcome(sql: string): Promise<string>
  /** The column `name` of a statement. */
  namesOf(sql: string): Promise<string[]>
}

export async function connectStranger(connectionString: string): Promise<Stranger> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return {
    client,
    outcome: (sql) =>
      client.query(sql).then(
        ({ rowCount }) => `${rowCount} rows`,
        ({ message }: Error) => message,
      ),
    namesOf: async (sql) => (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name),
  }
}

const isOfExtension = (oid: string) => `EXISTS (SELECT FROM pg_depend WHERE objid = ${oid} AND deptype = 'e')`

/** Lists the tables and views of the schema `public`, as identifiers, except for those of extensions. */
export function listTables({ namesOf }: Stranger): Promise<string[]> {
  return namesOf(`SELECT oid::regclass::text AS name FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm') AND NOT ${isOfExtension('oid')}`)
}

/** Requires that a stranger reads, writes and empties none of the tables. */
export async function expectNoAccess({ outcome }: Stranger, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const plain = table.replaceAll('"', '')
    const statements = [
      `SELECT FROM ${table}`,
      `INSERT INTO ${table} DEFAULT VALUES`,
      `DELETE FROM ${table}`,
      `TRUNCATE ${table}`,
    ]
    for (const sql of statements) {
      expect([sql, await outcome(sql)]).toEqual([sql, `permission denied for table ${plain}`])
    }
  }
}

/**
 * Requires that the functions of the schema `public` return nothing of the tables to a stranger. They return a number,
 * an error's text, the time, or whether the session has announced. Citus refuses to plan some, whatever the role.
 */
export async function expectNothingOfFunctions({ client, namesOf }: Stranger): Promise<void> {
  const functions = await namesOf(`
    SELECT format('%s(%s)', proname, (SELECT string_agg('NULL', ', ') FROM unnest(proargtypes))) AS name FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND prorettype <> 'trigger'::regtype AND NOT ${isOfExtension('pg_proc.oid')}`)
  expect(functions.length).toBeGreaterThan(10)
  for (const call of functions) {
    const seen = await client.query(`SELECT to_json(${call})::text AS value`).then(
      ({ rows }) => String(rows[0].value),
      ({ message }: Error) => message,
    )
    expect(`${call}: ${seen}`).toMatch(
      /permission denied for table (event_state|tenant_app)$|: null$|: \{"code|: [\d.e-]+$|: "[\da-f-]{36}"$|: "\d{4}-|: (true|false)$|: function \S+ does not exist$|: cannot push down this subquery$/,
    )
  }
}
