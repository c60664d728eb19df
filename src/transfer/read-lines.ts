/** A line of a file, without its newline. */
export interface Line {
  readonly bytes: Buffer
  /** From 1. */
  readonly number: number
  /** The number of bytes up to the end of the line. */
  readonly offset: number
}

const newline = 0x0a

/** Reads the lines of a stream of bytes, one at a time. The last line need not end with a newline. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
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
