import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { OperatorError } from '../../errors.ts'
import { execute, query, statement } from '../statement.ts'

/** A table and its copy, as identifiers of SQL. */
export interface Copy {
  readonly original: string
  readonly copy: string
}

/** The rows that one statement copies. An interrupted conversion loses at most this much work. */
const batchSize = 10_000

/**
 * Copies the rows that the copy does not have. Each batch is committed. Rows are copied in the order of the primary key, so the last
 * row of the copy says where to continue.
 *
 * @param onProgress called after each batch, with the rows of the copy and those of the original
 */
export async function copyRows(
  sql: SqlQueryable,
  { original, copy }: Copy,
  onProgress: (copied: number, total: number) => Promise<void>,
): Promise<void> {
  const last = (column: string) =>
    `coalesce((SELECT ${column} FROM ${copy} ORDER BY tenant_app_id DESC, id DESC LIMIT 1), '')`
  const copyBatch = statement(`
    INSERT INTO ${copy} SELECT * FROM ${original}
    WHERE (tenant_app_id, id) > (${last('tenant_app_id')}, ${last('id')})
    ORDER BY tenant_app_id, id LIMIT ${batchSize}`)
  const total = await countRows(sql, original)
  let copied = await countRows(sql, copy)
  for (let batch = -1; batch !== 0; copied += batch) {
    await onProgress(copied, total)
    batch = await execute(sql, copyBatch)
  }
}

/**
 * Compares the rows of a table with those of its copy: their number, and the sum of their hashes.
 *
 * @returns the number of rows
 * @throws OperatorError if they differ
 */
export async function verifyCopy(sql: SqlQueryable, { original, copy }: Copy): Promise<number> {
  const [rows, sum] = await summarize(sql, original)
  const [rowsOfCopy, sumOfCopy] = await summarize(sql, copy)
  if (rows === rowsOfCopy && sum === sumOfCopy) return Number(rows)
  throw new OperatorError(
    `The copy of ${original} has ${rowsOfCopy} rows with the checksum ${sumOfCopy}. The table has ${rows} with ${sum}. ` +
      'No table was replaced. End the conversion with --cancel, and begin again.',
  )
}

async function summarize(sql: SqlQueryable, table: string): Promise<[rows: string, sum: string]> {
  const text = `SELECT count(*), coalesce(sum(hashtextextended(row::text, 0)::numeric), 0)::text FROM ${table} AS row`
  const [[rows, sum] = []] = await query(sql, statement(text))
  return [String(rows), String(sum)]
}

async function countRows(sql: SqlQueryable, table: string): Promise<number> {
  const [[count] = []] = await query(sql, statement(`SELECT count(*) FROM ${table}`))
  return Number(count)
}
