/** A line of a file, without its end, and how far in the file it ends. */
export interface Line {
  readonly bytes: Buffer
  /** Counted from 1. */
  readonly number: number
  /** How many bytes of the file are read with it. */
  readonly offset: number
}

const newline = 0x0a

/** The lines of a stream of bytes, one at a time. A file that does not end in a newline has a last line all the same. */
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
