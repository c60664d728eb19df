import type { Sql } from './sql.ts'
import { statement } from './statement.ts'

const readVersion = statement(`SELECT extversion FROM pg_extension WHERE extname = 'citus'`)

/** The version of Citus in a database; undefined if it has none, so that no table is distributed. */
export async function citusVersion(sql: Sql): Promise<string | undefined> {
  const [[version] = []] = await sql.query(readVersion)
  return version === undefined ? undefined : String(version)
}
