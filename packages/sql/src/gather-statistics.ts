import type { Sql } from './sql.ts'

/**
 * Gathers the statistics of the tables with indexes of folded texts, by which searches are planned. PostgreSQL itself
 * does so only some time after many rows have changed, and not after such an index was created. Tables without rows are
 * left out: plans for a table that is known to be empty are slow as soon as it has rows.
 *
 * A role that does not own a table gathers none.
 */
export async function gatherStatistics(sql: Sql): Promise<void> {
  const names = await sql.query({ text: listTables })
  if (names.length === 0) return
  // On a distributed database EXISTS would collect the rows of all nodes.
  const found = names.map(([name]) => `(SELECT true FROM ${name} LIMIT 1)`)
  const [filled = []] = await sql.query({ text: `SELECT ${found.join(', ')}` })
  const tables = names.flatMap(([name], index) => (filled[index] === true ? [name] : []))
  if (tables.length > 0) await sql.runScript(`ANALYZE ${tables.join(', ')}`)
}

const listTables = `
  SELECT DISTINCT quote_ident(nspname) || '.' || quote_ident(relname)
  FROM pg_index JOIN pg_class ON pg_class.oid = indrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = 'public' AND indexprs IS NOT NULL AND NOT relispartition AND pg_get_indexdef(indexrelid) LIKE '%search_fold%'`
