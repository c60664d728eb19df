import { isDriverAdapterError } from '@prisma/driver-adapter-utils'
import { RecordError } from '../domain/resource.ts'
import type { Database } from '../engine/db/database.ts'
import { isDatabaseUnavailable, refusalOf } from '../engine/db/errors.ts'
import type { ReadRecord } from './read-record.ts'

/**
 * Writes records of one kind with one transaction. If it fails, each half is written by itself, until the bad records
 * are found.
 *
 * @param onReject called with each record that cannot be written, and why
 * @returns the number of records that were written
 * @throws if the database cannot write at all
 */
export async function writeBatch<Item extends ReadRecord>(
  database: Database,
  tenantAppId: string,
  items: readonly Item[],
  onReject: (item: Item, reason: string) => Promise<void>,
): Promise<number> {
  const [first] = items
  if (!first) return 0
  try {
    const records = items.map(({ record }) => record) as never[]
    await database.transact(() => first.write(database, tenantAppId, records))
    return items.length
  } catch (error) {
    const reason = reasonOf(error)
    if (items.length === 1) {
      await onReject(first, reason)
      return 0
    }
    const half = Math.ceil(items.length / 2)
    const written = await writeBatch(database, tenantAppId, items.slice(0, half), onReject)
    return written + (await writeBatch(database, tenantAppId, items.slice(half), onReject))
  }
}

/** @throws the error, if it is not about the records */
function reasonOf(error: unknown): string {
  if (error instanceof RecordError) return error.message
  if (isDatabaseUnavailable(error)) throw error
  if (isDriverAdapterError(error) && error.cause.kind === 'UniqueConstraintViolation') {
    return 'another record has the same platform account or id'
  }
  const refusal = refusalOf(error)
  if (refusal === undefined) throw error
  return /affect row a second time/.test(refusal) ? 'has the same id twice' : `the database refused it: ${refusal}`
}
