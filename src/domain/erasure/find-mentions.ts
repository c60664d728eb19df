import type { Database } from '../../engine/db/database.ts'
import { literals, modelTables } from '../../engine/db/own-objects.ts'
import { query, statement } from '../../engine/db/statement.ts'
import { isCertain, likePatternOf, patternOf, readNames } from './names.ts'

/** A column in which a user is named. */
export interface Mention {
  readonly table: string
  readonly column: string
  readonly rows: number
  /** Whether the column belongs to the event log, which keeps ids of deleted users until its retention ends. */
  readonly isKept: boolean
}

const listColumns = statement(`
  SELECT c.relname, a.attname, quote_ident(c.relname), quote_ident(a.attname)
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relname IN (${literals(modelTables)})
  ORDER BY 1, a.attnum`)

const listTenants = statement('SELECT id FROM tenant_app WHERE $1::text IS NULL OR id = $1')

/**
 * Looks through every column of every table for the id of a user, the ids of the accounts and profiles that the event
 * log knows of the user, and further texts, such as an email address.
 *
 * @param tenantAppId the tenant of the user. All tenants if absent
 */
export async function findMentions(
  { sql }: Pick<Database, 'sql'>,
  {
    userId,
    tenantAppId,
    texts,
  }: { readonly userId: string; readonly tenantAppId?: string; readonly texts: readonly string[] },
): Promise<Mention[]> {
  const tenants = (await query(sql, listTenants, [tenantAppId ?? null])).map(([id]) => String(id))
  const names: string[] = []
  for (const tenant of tenants) {
    for (const [, name] of await query(sql, readNames, [tenant, [userId]])) names.push(String(name))
  }
  const all = [...new Set([userId, ...names, ...texts])]
  // A text of the operator is a word, however short.
  const isWord = (name: string) => isCertain(name) || texts.includes(name)
  const likePatterns = all.map((name) => likePatternOf(name, isWord(name)))
  const pattern = all.map((name) => patternOf(name, isWord(name))).join('|')
  const columns = await query(sql, listColumns)
  const mentions: Mention[] = []
  for (const [table, ofTable] of Map.groupBy(columns, ([name]) => String(name))) {
    const isOfTenant = ofTable.some(([, column]) => column === 'tenant_app_id')
    const counts = ofTable.map(
      ([, , , column]) =>
        `count(*) FILTER (WHERE ${column}::text = ANY ($1) OR (${column}::text LIKE ANY ($4) AND ${column}::text ~ $2))`,
    )
    const count = statement(`
      SELECT ${counts.join(', ')} FROM ${ofTable[0]?.[2]} ${isOfTenant ? 'WHERE tenant_app_id = ANY ($3)' : 'WHERE $3::text[] IS NOT NULL'}`)
    const [found = []] = await query(sql, count, [all, pattern, tenants, likePatterns])
    for (const [index, rows] of found.entries()) {
      const column = String(ofTable[index]?.[1])
      if (Number(rows) > 0) mentions.push({ table, column, rows: Number(rows), isKept: table === 'event' })
    }
  }
  return mentions
}
