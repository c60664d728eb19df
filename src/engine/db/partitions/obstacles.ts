import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { Connector } from '../adapter.ts'
import { isLockDenied } from '../errors.ts'
import { query, statement } from '../statement.ts'

// Migrations create none of these, but an operator may have.
const listLost = statement(`
  WITH converted AS (SELECT name, name::regclass AS oid FROM unnest($1::text[]) AS name)
  SELECT format('The table %s has the policy %s. Remove it, and create it again after the conversion.', name, polname)
    FROM pg_policy JOIN converted ON polrelid = converted.oid
  UNION ALL
  SELECT format('The column %s of %s has privileges of its own. Revoke them, and grant them again after the conversion.', attname, name)
    FROM pg_attribute JOIN converted ON attrelid = converted.oid WHERE attacl IS NOT NULL
  UNION ALL
  SELECT format('The table %s is part of the publication %s. Remove it, and add it again after the conversion.', name, pubname)
    FROM pg_publication_rel JOIN converted ON prrelid = converted.oid JOIN pg_publication p ON p.oid = prpubid
  UNION ALL
  SELECT format('The table %s has the storage parameters %s. Reset them, and set them on the partitions after the conversion.', name,
    array_to_string(reloptions, ', ')) FROM pg_class c JOIN converted ON c.oid = converted.oid WHERE reloptions IS NOT NULL
  ORDER BY 1`)

/**
 * Finds what a conversion of the tables would lose, and objects that depend on the tables and cannot follow, such as views.
 *
 * @param from the schema of the tables
 * @returns a sentence for each
 */
export async function findObstacles(
  sql: SqlQueryable,
  { runScript }: Connector,
  from: string,
  tables: readonly string[],
): Promise<string[]> {
  const names = tables.map((table) => `${from}.${table}`)
  const lost = await query(sql, listLost, [names])
  if (lost.length > 0) return lost.map(([sentence]) => String(sentence))
  // PostgreSQL knows all objects that depend on a table: it rejects the drop.
  try {
    await runScript(`BEGIN; DROP TABLE ${names.join(', ')}`)
    return []
  } catch (error) {
    if (isLockDenied(error)) throw error
    const { message, detail } = error as Error & { detail?: string }
    return [`The tables cannot be replaced: ${message}${detail ? `: ${detail}` : ''}`]
  } finally {
    await runScript('ROLLBACK')
  }
}
