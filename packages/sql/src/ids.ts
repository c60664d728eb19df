import { randomUUID } from 'node:crypto'

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

/** The most ids of a millisecond, less one: the number of an id has 12 bits. */
const maxSequence = 0xfff

/**
 * Creates a source of UUIDv7: ids that sort by the time of their creation, also within a millisecond. Node's own does
 * not do that.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562#section-5.7
 */
function createUuids(): () => string {
  let milliseconds = 0
  let sequence = 0
  return () => {
    // Node keeps random bytes for many of these, and asking for a few each time takes twenty times as long.
    const random = randomUUID()
    const now = Date.now()
    if (now > milliseconds) {
      milliseconds = now
      // Starts in the lower half, so that there is room to count.
      sequence = Number.parseInt(random.slice(0, 3), 16) & (maxSequence >> 1)
    } else if (sequence < maxSequence) sequence += 1
    else {
      milliseconds += 1
      sequence = 0
    }
    return formatUuid(milliseconds, sequence, random.slice('019a9d6e-0000-7000-'.length))
  }
}

/**
 * Formats a UUIDv7.
 *
 * @param sequence 12 bits
 * @param end the last 64 bits, which mean the same as in Node's UUIDs: `8b1d-4c9e52f07a63`, a variant and 62 random
 *   bits
 */
export function formatUuid(milliseconds: number, sequence: number, end: string): string {
  const time = milliseconds.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence.toString(16).padStart(3, '0')}-${end}`
}
