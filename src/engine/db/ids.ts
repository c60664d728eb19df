import { randomBytes } from 'node:crypto'
import { isStorableText } from './storable.ts'

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

/** The digits of the random part that count ids of the same millisecond. */
const maxSequence = 0xfff

/**
 * Creates a source of UUIDv7: ids that sort by the time of their creation, also within a millisecond. Node's own does not do that.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562#section-5.7
 */
function createUuids(): () => string {
  let milliseconds = 0
  let sequence = 0
  return () => {
    const random = randomBytes(10)
    const now = Date.now()
    if (now > milliseconds) {
      milliseconds = now
      // Starts in the lower half, so that there is room to count.
      sequence = random.readUInt16BE() & (maxSequence >> 1)
    } else if (sequence < maxSequence) sequence += 1
    else {
      milliseconds += 1
      sequence = 0
    }
    return formatUuid(milliseconds, sequence, random.subarray(2))
  }
}

/**
 * Formats a UUIDv7.
 *
 * @param sequence 12 bits
 * @param random 8 bytes, of which 62 bits are used
 */
export function formatUuid(milliseconds: number, sequence: number, random: Buffer): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(milliseconds, 0, 6)
  bytes.writeUInt16BE(0x7000 | sequence, 6)
  random.copy(bytes, 8, 0, 8)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
