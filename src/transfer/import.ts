import { isUtf8 } from 'node:buffer'
import { isObject, ownValue } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { problemOfNumbers } from '@fusion-gateway/input'
import { isDatabaseUnavailable, isPossibleId, isUniqueViolation, refusalOf } from '@fusion-gateway/sql'
import { isEventId } from '../domain/event/event.ts'
import { RecordError, type Transfer } from '../domain/resource.ts'
import { domain } from '../domain/resources.ts'
import { createRecordSplitter, type RawRecord } from './record-splitter.ts'

interface ReadRecord {
  /** Writes a batch, or deletes it. */
  readonly write: Transfer['write']
  /** What it writes, or the id of what it deletes. */
  readonly record: unknown
}

/** What can be imported, and the names for messages. */
const transfers = domain.flatMap(({ name, transfer }) => (transfer ? [{ name, transfer }] : []))

/** The keys of the lists of whole responses of the REST interface. */
const listKeys = transfers.flatMap(({ transfer }) => transfer.listKey ?? [])

const deletions = new Map(domain.flatMap(({ name, deletion }) => (deletion ? [[name, deletion]] : [])))

/**
 * Parses the JSON of a record.
 *
 * @returns undefined if there is no record: the line is blank or the last one of an export, or its lists have all its
 *   records
 * @throws RecordError if it cannot be read
 */
function parseRecord({ bytes, fault, list, isRest }: RawRecord, text: string): unknown {
  if (fault !== undefined) throw new RecordError(fault)
  if (!isUtf8(bytes)) throw new RecordError('is not UTF-8')
  if (list === undefined && text.trim() === '') return undefined
  const value = parseJson(text)
  if (isRest || isPosition(value)) return undefined
  const problem = problemOfNumbers(text)
  if (problem !== undefined) throw new RecordError(problem)
  return value
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RecordError('is not JSON')
  }
}

/** Whether a line is the last one of an export. */
function isPosition(value: unknown): boolean {
  const { event, ...others } = Object(value)
  return typeof event === 'string' && isEventId(event) && Object.keys(others).length === 0
}

/** The id that a record has, so that an operator can find it. */
function idOf(value: unknown): string | undefined {
  const id = ownValue(Object(value), 'id')
  return typeof id === 'string' && isPossibleId(id) ? id : undefined
}

/** @throws RecordError naming every invalid field */
function readRecord(value: unknown): ReadRecord {
  if (!isObject(value)) throw new RecordError('is not a JSON object')
  const found = transfers.find(({ transfer }) => isRecognised(transfer, value))
  if (!found && 'deleted' in value) return readDeletion(value)
  if (!found) {
    const missing = transfers
      .filter(({ transfer }) => transfer.kind === undefined && !hasKeyOfOthers(transfer, value))
      .map(({ name, transfer }) => `${missingKeys(transfer, value)} (${name})`)
    throw new RecordError(`is not a known record. Missing: ${missing.join('; ')}`)
  }
  const { transfer } = found
  const { data, error } = transfer.record.safeParse(value)
  if (!error) return { write: transfer.write, record: data }
  throw new RecordError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
}

function isRecognised(transfer: Transfer, value: object): boolean {
  const { recognisedBy, withOneOf } = transfer
  if (!Object.hasOwn(value, recognisedBy) || hasKeyOfOthers(transfer, value)) return false
  return !withOneOf || withOneOf.some((key) => Object.hasOwn(value, key))
}

function hasKeyOfOthers({ without }: Transfer, value: object): boolean {
  return without !== undefined && Object.hasOwn(value, without)
}

/**
 * The keys that a record lacks to be of a kind: `user_platform`, or `emails, phone_numbers, addresses or another of its
 * keys`.
 */
function missingKeys({ recognisedBy, withOneOf = [] }: Transfer, value: object): string {
  if (!Object.hasOwn(value, recognisedBy)) return recognisedBy
  return `${withOneOf.slice(0, 3).join(', ')} or another of its keys`
}

/** @throws RecordError if it names no resource and id */
function readDeletion({ deleted, id }: { deleted?: unknown; id?: unknown }): ReadRecord {
  const deletion = deletions.get(deleted as string)
  if (!deletion) throw new RecordError(`deleted: must be one of ${[...deletions.keys()].join(', ')}`)
  if (typeof id !== 'string' || !isPossibleId(id)) throw new RecordError('id: must be an id of 1 to 128 characters')
  return { write: deletion.delete, record: id }
}

export interface ImportFile {
  readonly name: string
  readonly chunks: AsyncIterable<Uint8Array>
}

export interface Rejection {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** The list of the line that has the record, and the position in it from 0. Absent if the record is the line. */
  readonly list?: string
  readonly index?: number
  readonly id?: string
  readonly reason: string
  /** The record alone, or the beginning of one that is too long. */
  readonly text: string
}

export interface ImportOptions {
  readonly tenantAppId: string
  /** The import continues when the rejection has been written. */
  readonly onReject: (rejection: Rejection) => void | Promise<void>
  /** Called with the number of bytes that were imported so far. */
  readonly onProgress?: (bytes: number) => void
  /** Changes a record before it is checked, if another service writes it in another way. */
  readonly prepare?: (record: unknown) => unknown
}

interface Item extends ReadRecord {
  readonly raw: RawRecord
  readonly id: string | undefined
}

/** The bounds of a batch. One record can have more bytes. */
const maxBatchRecords = 1_000
const maxBatchBytes = 4 * 1024 * 1024

/**
 * Imports a file of records, one per line. A line may also be a whole response of the REST interface (`{"users":[…]}`),
 * or a deletion (`{"deleted":"user","id":"usr_…"}`). The position at the end of an export (`{"event":"evt_…"}`) is
 * ignored. Ids are kept. A record that exists is updated, so importing a file again changes nothing. A bad record is
 * rejected, and the others are imported. It holds one batch at a time, however long the lines are.
 *
 * @returns the number of imported records
 * @throws if the database cannot be reached. Batches that were written stay; running the import again continues
 */
export async function importFile(database: Database, file: ImportFile, options: ImportOptions): Promise<number> {
  const { tenantAppId, onReject, onProgress = () => undefined, prepare = (record) => record } = options
  let batch: Item[] = []
  let bytes = 0
  let imported = 0

  const reject = async (raw: RawRecord, id: string | undefined, reason: string) =>
    onReject(describe(file.name, raw, id, reason))

  async function flush(): Promise<void> {
    const items = batch
    batch = []
    bytes = 0
    imported += await writeBatch(database, tenantAppId, items, ({ raw, id }, reason) => reject(raw, id, reason))
  }

  async function add(item: Item): Promise<void> {
    const { length } = item.raw.bytes
    const isFull = batch.length >= maxBatchRecords || bytes + length > maxBatchBytes
    if (batch[0] && (isFull || batch[0].write !== item.write)) await flush()
    batch.push(item)
    bytes += length
  }

  const split = createRecordSplitter(listKeys)
  async function addRecords(chunk?: Uint8Array): Promise<void> {
    for (const raw of split(chunk)) {
      const item = await readItem(raw, prepare, reject)
      if (item) await add(item)
      onProgress(raw.offset)
    }
  }

  for await (const chunk of file.chunks) await addRecords(chunk)
  await addRecords()
  await flush()
  return imported
}

/** Reads a record. Returns undefined if there is none, or it is rejected. */
async function readItem(
  raw: RawRecord,
  prepare: (record: unknown) => unknown,
  reject: (raw: RawRecord, id: string | undefined, reason: string) => Promise<void>,
): Promise<Item | undefined> {
  let id: string | undefined
  try {
    const value = parseRecord(raw, textOf(raw))
    if (value === undefined) return undefined
    id = idOf(value)
    return { ...readRecord(prepare(value)), raw, id }
  } catch (error) {
    if (!(error instanceof RecordError)) throw error
    await reject(raw, id, error.message)
    return undefined
  }
}

/** The first line of a file can have a byte order mark. */
function textOf({ bytes }: RawRecord): string {
  return bytes.toString('utf8').replace(/^\uFEFF/, '')
}

function describe(file: string, raw: RawRecord, id: string | undefined, reason: string): Rejection {
  const { line, list, index = 0 } = raw
  const place = list === undefined ? {} : { list, index }
  return { file, line, ...place, ...(id !== undefined && { id }), reason, text: textOf(raw).trim() }
}

/**
 * Writes records of one kind with one transaction. If it fails, each half is written by itself, until the bad records
 * are found.
 *
 * @param onReject called with each record that cannot be written, and why
 * @returns the number of records that were written
 * @throws if the database cannot write at all
 */
async function writeBatch<Item extends ReadRecord>(
  database: Database,
  tenantAppId: string,
  items: readonly Item[],
  onReject: (item: Item, reason: string) => Promise<void>,
): Promise<number> {
  const [first] = items
  if (!first) return 0
  try {
    const records = items.map(({ record }) => record) as never[]
    await database.sql.transact((sql) => first.write({ ...database, sql }, tenantAppId, records))
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
  if (isUniqueViolation(error)) return 'another record has the same platform account, external id or id'
  const refusal = refusalOf(error)
  if (refusal === undefined) throw error
  return /affect row a second time/.test(refusal) ? 'has the same id twice' : `the database refused it: ${refusal}`
}
