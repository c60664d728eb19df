import { isUtf8 } from 'node:buffer'
import { isDriverAdapterError } from '@prisma/driver-adapter-utils'
import { isDatabaseUnavailable } from '../db/availability.ts'
import { createBatchedRead } from '../db/batch.ts'
import type { Database } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import { readLines } from './read-lines.ts'
import { type ImportRecord, RecordError, readRecord } from './records.ts'
import { type WriteRecords, writeJobs, writeProfiles, writeUsers } from './write-records.ts'

/** A file to import. */
export interface ImportFile {
  readonly name: string
  readonly chunks: AsyncIterable<Uint8Array>
}

/** A line, or a record of one, that was not imported, and why. */
export interface Rejection {
  readonly file: string
  readonly line: number
  readonly reason: string
  readonly text: string
}

export interface ImportOptions {
  readonly tenantAppId: string
  readonly onReject: (rejection: Rejection) => void
  /** Told how many bytes of the file are done. */
  readonly onProgress?: (bytes: number) => void
}

interface Item {
  readonly record: ImportRecord
  readonly line: number
  readonly text: string
}

const batchSize = 1_000

const writers: { [Kind in ImportRecord['kind']]: WriteRecords<never> } = {
  user: writeUsers,
  profile: writeProfiles,
  job: writeJobs,
}

/**
 * Imports a file of records, one a line; a line may also be a whole answer of the REST interface (`{"users":[…]}`).
 * Ids are kept. Records that are there already are brought to what the file says, so importing it again changes nothing.
 * A bad record is reported and the rest goes on. It never holds more than a batch.
 *
 * @returns how many records are imported
 * @throws when the database cannot be reached; what was written until then stays, and running it again goes on
 */
export async function importFile(database: Database, file: ImportFile, options: ImportOptions): Promise<number> {
  const { tenantAppId, onReject, onProgress = () => undefined } = options
  const reject = ({ line, text }: Omit<Item, 'record'>, reason: string) =>
    onReject({ file: file.name, line, reason, text })
  let batch: Item[] = []
  let imported = 0

  async function flush(): Promise<void> {
    const items = batch
    batch = []
    imported += await writeBatch(database, tenantAppId, items, reject)
  }

  for await (const { bytes, number, offset } of readLines(file.chunks)) {
    for (const item of readItems(bytes, number, reject)) {
      if (batch.length >= batchSize || (batch[0] && batch[0].record.kind !== item.record.kind)) await flush()
      batch.push(item)
    }
    onProgress(offset)
  }
  await flush()
  return imported
}

type Reject = (item: Omit<Item, 'record'>, reason: string) => void

/** The records of a line; what cannot be read is rejected. */
function readItems(bytes: Buffer, line: number, reject: Reject): Item[] {
  const text = bytes.toString('utf8')
  if (text.trim() === '') return []
  if (!isUtf8(bytes)) {
    reject({ line, text }, 'is not UTF-8')
    return []
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    reject({ line, text }, 'is not JSON')
    return []
  }
  return unwrap(value).flatMap((record): Item[] => {
    try {
      return [{ record: readRecord(record), line, text }]
    } catch (error) {
      reject({ line, text }, (error as Error).message)
      return []
    }
  })
}

/** `{"users":[a, b]}` ⇒ `[a, b]`; anything else is one record. */
function unwrap(value: unknown): unknown[] {
  const { users, profiles } = (value ?? {}) as { users?: unknown; profiles?: unknown }
  if (Array.isArray(users)) return users
  return Array.isArray(profiles) ? profiles : [value]
}

/** Writes a batch at once, or, where that fails, one record after another, to find out which is to blame. */
async function writeBatch(database: Database, tenantAppId: string, items: Item[], reject: Reject): Promise<number> {
  if (items.length === 0) return 0
  try {
    await write(database, tenantAppId, items)
    return items.length
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    const [only, ...others] = items
    if (only && others.length === 0) {
      reject(only, reasonOf(error))
      return 0
    }
    let written = 0
    for (const item of items) written += await writeBatch(database, tenantAppId, [item], reject)
    return written
  }
}

async function write({ sql, model }: Database, tenantAppId: string, items: readonly Item[]): Promise<void> {
  const writer = writers[items[0]?.record.kind ?? 'user'] as WriteRecords<unknown>
  const values = items.map(({ record }) => record.value)
  await inTransaction(sql, (transaction) =>
    writer({ sql: transaction, model, read: createBatchedRead(transaction, model) }, tenantAppId, values),
  )
}

function reasonOf(error: unknown): string {
  if (error instanceof RecordError) return error.message
  if (isDriverAdapterError(error)) {
    if (error.cause.kind === 'UniqueConstraintViolation') return 'another record has the same platform account or id'
    if (error.cause.kind === 'postgres' && error.cause.code === '21000') return 'names one id twice'
  }
  throw error
}
