import { isUtf8 } from 'node:buffer'
import { isEventId } from '../domain/event/event.ts'
import { RecordError, type Transfer } from '../domain/resource.ts'
import { domain } from '../domain/resources.ts'
import { isPossibleId } from '../engine/db/ids.ts'
import { problemOfNumbers } from '../engine/input/json.ts'
import { own } from '../engine/own.ts'
import type { RawRecord } from './record-splitter.ts'

/** A valid record. */
export interface ReadRecord {
  /** Writes a batch, or deletes it. */
  readonly write: Transfer['write']
  /** What it writes, or the id of what it deletes. */
  readonly record: unknown
}

/** What can be imported, and the names for messages. */
const transfers = domain.flatMap(({ name, transfer }) => (transfer ? [{ name, transfer }] : []))

/** The keys of the lists of whole responses of the REST interface. */
export const listKeys = transfers.flatMap(({ transfer }) => transfer.listKey ?? [])

/** What can be deleted, by name. */
const deletions = new Map(domain.flatMap(({ name, deletion }) => (deletion ? [[name, deletion]] : [])))

/**
 * Parses the JSON of a record.
 *
 * @returns undefined if there is no record: the line is blank or the last one of an export, or its lists have all its
 *   records
 * @throws RecordError if it cannot be read
 */
export function parseRecord({ bytes, fault, list, isRest }: RawRecord, text: string): unknown {
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
export function idOf(value: unknown): string | undefined {
  const id = own(Object(value), 'id')
  return typeof id === 'string' && isPossibleId(id) ? id : undefined
}

/** @throws RecordError naming every invalid field */
export function readRecord(value: unknown): ReadRecord {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new RecordError('is not a JSON object')
  const found = transfers.find(({ transfer }) => isRecognised(transfer, value))
  if (!found && 'deleted' in value) return readDeletion(value)
  if (!found) {
    const missing = transfers
      .filter(({ transfer }) => !hasKeyOfOthers(transfer, value))
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
function readDeletion({ deleted, id }: { deleted: unknown; id?: unknown }): ReadRecord {
  const deletion = deletions.get(deleted as string)
  if (!deletion) throw new RecordError(`deleted: must be one of ${[...deletions.keys()].join(', ')}`)
  if (typeof id !== 'string' || !isPossibleId(id)) throw new RecordError('id: must be an id of 1 to 128 characters')
  return { write: deletion.delete, record: id }
}
