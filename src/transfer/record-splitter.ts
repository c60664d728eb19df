/** A record of a file as bytes, or what a line has besides the records of its lists. */
export interface RawRecord {
  /** Without the newline. Only the beginning of a record that is too long. */
  readonly bytes: Buffer
  /** Why the record cannot be read, whatever its bytes are. */
  readonly fault?: string
  /** From 1. */
  readonly line: number
  /**
   * The list that has the record, and the position in it from 0: 12 of `{"users":[…]}`. Absent if the record is a line.
   */
  readonly list?: string
  readonly index?: number
  /** Whether it is a line without the records of its lists: `{"users":[]}`. */
  readonly isRest: boolean
  /** The number of bytes up to the end of the record. */
  readonly offset: number
}

/** The longest record. A job can have a payload and a result of almost 16 MiB each. */
export const maxRecordBytes = 32 * 1024 * 1024

const tooLong = `is longer than ${maxRecordBytes / 1024 / 1024} MiB`

/** How much of a record that is too long is kept, so that an operator can recognise it. */
const beginningBytes = 1_000

const [newline, quote, backslash, comma, colon] = Buffer.from('\n"\\,:')
const [openBrace, closeBrace, openBracket, closeBracket, space] = Buffer.from('{}[] ')

/**
 * Returns a function that splits the bytes of a file into records: lines, and the entries of the lists of a line such
 * as `{"users":[a,b,…]}`. It keeps one record at a time, so a line can have any length. It counts brackets and finds
 * the ends of strings, and does not check that the bytes are JSON.
 *
 * @param listKeys the keys of an object in a line whose lists have records: `users`
 * @returns a function that returns the records that end in the next bytes. Without bytes, it returns the last ones
 */
export function createRecordSplitter(listKeys: readonly string[]) {
  const longestKey = Math.max(...listKeys.map((key) => key.length))
  let rest = new Collector()
  let line = 1
  let offset = 0
  /** The list that is read, and its next record. */
  let list: { readonly name: string; index: number; entry: Collector } | undefined
  let hasList = false
  /** The brackets that are open in the line, or in the entry. */
  let depth = 0
  let isInString = false
  let isEscaped = false
  /** The last string of the line's own object, and the key before the value that begins. */
  let word = ''
  let key: string | undefined

  function endEntry(end: number, fault?: string): RawRecord {
    const { name, index, entry } = list as NonNullable<typeof list>
    const record = { ...entry.end(fault), line, list: name, index, isRest: false, offset: end }
    list = { name, index: index + 1, entry: new Collector() }
    return record
  }

  function endLine(end: number): RawRecord {
    const record = { ...rest.end(), line, isRest: hasList, offset: end }
    rest = new Collector()
    list = undefined
    line += 1
    depth = 0
    hasList = isInString = isEscaped = false
    word = ''
    key = undefined
    return record
  }

  return function* split(chunk?: Uint8Array): Generator<RawRecord> {
    // The last line need not end with a newline.
    if (!chunk && rest.length === 0) return
    const bytes = chunk ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : Buffer.from('\n')
    let start = 0
    const take = (end: number) => {
      const { entry } = list ?? { entry: rest }
      entry.add(bytes.subarray(start, end))
      start = end
    }
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number
      if (byte === newline) {
        take(at)
        start += 1
        if (list) yield endEntry(offset + at, `is cut off: the line ends within "${list.name}"`)
        const hadList = list !== undefined
        const last = endLine(offset + start)
        if (!hadList) yield last
      } else if (isInString) {
        if (isEscaped) isEscaped = false
        else if (byte === backslash) isEscaped = true
        else if (byte === quote) isInString = false
        if (isInString && !list && depth === 1 && word.length <= longestKey) word += String.fromCharCode(byte)
      } else if (byte === quote) {
        isInString = true
        if (!list && depth === 1) word = ''
      } else if (byte === openBrace || byte === openBracket) {
        if (list || depth !== 1 || byte !== openBracket || key === undefined) depth += 1
        else {
          take(at + 1)
          list = { name: key, index: 0, entry: new Collector() }
          hasList = true
          depth = 0
        }
      } else if (list && depth === 0 && (byte === comma || byte === closeBracket)) {
        take(at)
        const isEmpty = byte === closeBracket && list.index === 0 && list.entry.isBlank()
        if (!isEmpty) yield endEntry(offset + at)
        if (byte === comma) start += 1
        else {
          list = undefined
          depth = 1
          key = undefined
        }
      } else if (byte === closeBrace || byte === closeBracket) {
        if (depth > 0) depth -= 1
      } else if (!list && depth === 1) {
        if (byte === colon) key = listKeys.includes(word) ? word : undefined
        else if (byte > (space as number)) key = undefined
      }
    }
    take(bytes.length)
    offset += bytes.length
  }
}

/** Collects the bytes of a record from several chunks. */
class Collector {
  length = 0
  private parts: Buffer[] = []

  add(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.parts.push(bytes)
    this.length += bytes.length
    // A copy, because a part is a view of its chunk.
    if (this.isTooLong()) this.parts = [Buffer.from(Buffer.concat(this.parts).subarray(0, beginningBytes))]
  }

  isBlank(): boolean {
    return !this.isTooLong() && Buffer.concat(this.parts).toString('latin1').trim() === ''
  }

  private isTooLong(): boolean {
    return this.length > maxRecordBytes
  }

  end(fault?: string): Pick<RawRecord, 'bytes' | 'fault'> {
    const reason = fault ?? (this.isTooLong() ? tooLong : undefined)
    return { bytes: Buffer.concat(this.parts), ...(reason !== undefined && { fault: reason }) }
  }
}
