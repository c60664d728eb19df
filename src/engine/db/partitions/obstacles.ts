import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { OperatorError } from '../../errors.ts'
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
 * Requires, within a transaction, that a conversion loses no property of the tables, and that no object depends on them, such as a view.
 *
 * @throws OperatorError with a sentence for each obstacle
 */
export async function requireNoObstacles(sql: SqlQueryable, { runScript }: Connector, tables: readonly string[]) {
  const lost = await query(sql, listLost, [tables])
  if (lost.length > 0) throw new OperatorError(lost.join('\n'))
  // PostgreSQL knows all objects that depend on a table: it rejects the drop.
  await runScript(`SAVEPOINT drop; DROP TABLE ${tables.join(', ')}; ROLLBACK TO drop`).catch((error: unknown) => {
    if (isLockDenied(error)) throw error
    const { message, detail } = error as Error & { detail?: string }
    throw new OperatorError(`The tables cannot be replaced: ${message}${detail ? `: ${detail}` : ''}`)
  })
}
