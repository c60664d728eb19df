import { isUtf8 } from 'node:buffer'
import { isDriverAdapterError } from '@prisma/driver-adapter-utils'
import { domain } from '../domain/domain.ts'
import { isEventId } from '../domain/event/event.ts'
import { RecordError, type Transfer } from '../domain/resource.ts'
import type { Database } from '../engine/db/database.ts'
import { isDatabaseUnavailable } from '../engine/db/errors.ts'
import { isPossibleId } from '../engine/db/ids.ts'
import { problemOfNumbers } from '../engine/input/inexact-numbers.ts'
import { own } from '../engine/own.ts'

export interface ImportFile {
  readonly name: string
  readonly chunks: AsyncIterable<Uint8Array>
}

/** A line, or a record of one, that was not imported. */
export interface Rejection {
  readonly file: string
  readonly line: number
  readonly reason: string
  readonly text: string
}

export interface ImportOptions {
  readonly tenantAppId: string
  readonly onReject: (rejection: Rejection) => void
  /** Called with the number of bytes that were imported so far. */
  readonly onProgress?: (bytes: number) => void
}

interface Item {
  /** Writes a batch, or deletes it. */
  readonly write: Transfer['write']
  /** What it writes, or the id of what it deletes. */
  readonly record: unknown
  readonly line: number
  readonly text: string
}

type Reject = (item: Pick<Item, 'line' | 'text'>, reason: string) => void

const batchSize = 1_000

/** What can be imported, and the names for messages. */
const transfers = domain.flatMap(({ name, transfer }) => (transfer ? [{ name, transfer }] : []))

/** What can be deleted, by name. */
const deletions = new Map(domain.flatMap(({ name, deletion }) => (deletion ? [[name, deletion]] : [])))

/**
 * Imports a file of records, one per line. A line may also be a whole response of the REST interface (`{"users":[…]}`), or a deletion
 * (`{"deleted":"user","id":"usr_…"}`). The position at the end of an export (`{"event":"evt_…"}`) is ignored. Ids are kept. A record
 * that exists is updated, so importing a file again changes nothing. A bad record is rejected, and the others are imported. It holds
 * one batch at a time.
 *
 * @returns the number of imported records
 * @throws if the database cannot be reached. Batches that were written stay; running the import again continues
 */
export async function importFile(database: Database, file: ImportFile, options: ImportOptions): Promise<number> {
  const { tenantAppId, onReject, onProgress = () => undefined } = options
  const reject: Reject = ({ line, text }, reason) => onReject({ file: file.name, line, reason, text })
  let batch: Item[] = []
  let imported = 0

  async function flush(): Promise<void> {
    const items = batch
    batch = []
    imported += await writeBatch(database, tenantAppId, items, reject)
  }

  for await (const { bytes, number, offset } of readLines(file.chunks)) {
    for (const item of readItems(bytes, number, reject)) {
      if (batch.length >= batchSize || (batch[0] && batch[0].write !== item.write)) await flush()
      batch.push(item)
    }
    onProgress(offset)
  }
  await flush()
  return imported
}

/** The valid records of a line. Others are rejected. */
function readItems(bytes: Buffer, line: number, reject: Reject): Item[] {
  // The first line of a file can have a byte order mark.
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
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
  const problem = problemOfNumbers(text)
  if (problem !== undefined) {
    reject({ line, text }, problem)
    return []
  }
  return unwrap(value).flatMap((entry): Item[] => {
    try {
      return isPosition(entry) ? [] : [{ ...readRecord(entry), line, text }]
    } catch (error) {
      reject({ line, text }, (error as Error).message)
      return []
    }
  })
}

/** `{"users":[a, b]}` ⇒ `[a, b]`; anything else is one record. */
function unwrap(value: unknown): unknown[] {
  for (const { transfer } of transfers) {
    const list = transfer.listKey === undefined ? undefined : own(Object(value), transfer.listKey)
    if (Array.isArray(list)) return list
  }
  return [value]
}

/** Whether a line is the last one of an export. */
function isPosition(value: unknown): boolean {
  const { event, ...others } = Object(value)
  return typeof event === 'string' && isEventId(event) && Object.keys(others).length === 0
}

/** @throws RecordError naming every invalid field */
function readRecord(value: unknown): Pick<Item, 'write' | 'record'> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new RecordError('is not a JSON object')
  const found = transfers.find(({ transfer }) => Object.hasOwn(value, transfer.recognisedBy))
  if (!found && 'deleted' in value) return readDeletion(value)
  if (!found) {
    const known = transfers.map(({ name, transfer }) => `${name} (${transfer.recognisedBy})`)
    throw new RecordError(`is not a known record: ${known.join(', ')}`)
  }
  const { transfer } = found
  const { data, error } = transfer.record.safeParse(value)
  if (!error) return { write: transfer.write, record: data }
  throw new RecordError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
}

/** @throws RecordError if it names no resource and id */
function readDeletion({ deleted, id }: { deleted: unknown; id?: unknown }): Pick<Item, 'write' | 'record'> {
  const deletion = deletions.get(deleted as string)
  if (!deletion) throw new RecordError(`deleted: must be one of ${[...deletions.keys()].join(', ')}`)
  if (typeof id !== 'string' || !isPossibleId(id)) throw new RecordError('id: must be an id of 1 to 128 characters')
  return { write: deletion.delete, record: id }
}

/** Writes a batch at once. If that fails, writes its records one by one, to find the bad ones. */
async function writeBatch(database: Database, tenantAppId: string, items: Item[], reject: Reject): Promise<number> {
  const [first] = items
  if (!first) return 0
  try {
    const records = items.map(({ record }) => record) as never[]
    await database.transact(() => first.write(database, tenantAppId, records))
    return items.length
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    if (items.length === 1) {
      reject(first, reasonOf(error))
      return 0
    }
    let written = 0
    for (const item of items) written += await writeBatch(database, tenantAppId, [item], reject)
    return written
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof RecordError) return error.message
  if (isDriverAdapterError(error)) {
    if (error.cause.kind === 'UniqueConstraintViolation') return 'another record has the same platform account or id'
    if (error.cause.kind === 'postgres' && error.cause.code === '21000') return 'has the same id twice'
  }
  throw error
}

/** A line of a file, without its newline. */
interface Line {
  readonly bytes: Buffer
  /** From 1. */
  readonly number: number
  /** The number of bytes up to the end of the line. */
  readonly offset: number
}

const newline = 0x0a

/** Reads the lines of a stream of bytes, one at a time. The last line need not end with a newline. */
async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let rest: Buffer[] = []
  let number = 0
  let offset = 0
  for await (const chunk of chunks) {
    let start = 0
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
      const line = Buffer.concat([...rest, bytes.subarray(start, end)])
      rest = []
      start = end + 1
      number += 1
      offset += line.length + 1
      yield { bytes: line, number, offset }
    }
    if (start < bytes.length) rest.push(Buffer.from(bytes.subarray(start)))
  }
  const last = Buffer.concat(rest)
  if (last.length > 0) yield { bytes: last, number: number + 1, offset: offset + last.length }
}
