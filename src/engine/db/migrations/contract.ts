import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { Connector } from '../adapter.ts'
import { query, statement } from '../statement.ts'
import { splitConcurrent } from './concurrent-indexes.ts'

const file = path.resolve(import.meta.dirname, '../../../../prisma/contract.sql')

const listFound = statement(`
  SELECT name FROM unnest($1::text[]) AS name
  WHERE to_regclass(quote_ident(name)) IS NOT NULL OR to_regproc(quote_ident(name)) IS NOT NULL`)

/** The indexes and functions of a database that only gateways of the previous release need. */
export async function readContractions(sql: SqlQueryable): Promise<string[]> {
  const names = [...readFileSync(file, 'utf8').matchAll(/^DROP (?:INDEX|FUNCTION).* "(\w+)"/gm)].map(
    ([, name]) => name as string,
  )
  return (await query(sql, listFound, [names])).map(([name]) => String(name))
}

/**
 * Whether gateways of the previous release may use the database, until it is contracted. What this release stores is
 * then such that they can read it, because an upgrade is made process by process, and can be taken back.
 */
export async function mayHavePreviousRelease(sql: SqlQueryable): Promise<boolean> {
  return (await readContractions(sql)).length > 0
}

/** Drops what only gateways of the previous release need. It can be repeated. */
export async function contract({ runScript }: Pick<Connector, 'runScript'>, sql: SqlQueryable): Promise<void> {
  for (const one of await splitConcurrent(sql, readFileSync(file, 'utf8'))) await runScript(one)
}
