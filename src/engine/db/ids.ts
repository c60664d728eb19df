import { isStorableText } from './storable.ts'
import { createUuids } from './uuid.ts'

/** The ids of one kind of row. */
export interface Ids {
  /** The prefix of ids that this gateway creates: `usr_`. Imported rows keep their ids, which can have any prefix. */
  readonly prefix: string
  /** A new id: `usr_019a9d6e-…`, ordered by time. */
  create(): string
}

/** Ids of the form prefix and UUIDv7: `idsWithPrefix('usr')`. */
export function idsWithPrefix(name: string): Ids {
  const prefix = `${name}_`
  const createUuid = createUuids()
  return { prefix, create: () => prefix + createUuid() }
}

const maxIdLength = 128

/**
 * Whether a row can have this id: 1–128 characters that PostgreSQL can store. Other ids are not found, and no statement is
 * sent for them.
 */
export function isPossibleId(id: string): boolean {
  return id.length > 0 && id.length <= maxIdLength && isStorableText(id)
}
