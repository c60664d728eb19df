// Ours, not sonic-boom, pino's stream: with its bound `maxLength` and asynchronous writes, process.exit() does not end
// a process whose disk is full, because sonic-boom repeats the failed write in a loop that blocks the event loop.

/**
 * The longest chunk of several lines. Linux writes so many bytes to a pipe together or not at all (PIPE_BUF), so lines
 * of several processes do not mix.
 */
const chunkBytes = 4_096

/** How long a line waits for further lines, and for a sink that accepts nothing. */
const pauseMilliseconds = 10

/** How long the end of the process waits for the sink. */
const endMilliseconds = 1_000

/** How long the end of the process waits for a write on another thread, so that the lines stay in order. */
const otherThreadMilliseconds = 100

/** Where a log goes. */
export interface LogSink {
  /**
   * Writes a part of the chunk, or all of it.
   *
   * @returns the number of bytes that were written
   * @throws Error if the sink accepts nothing now: its disk is full, or its reader is slow or gone
   */
  write(chunk: Buffer): number | Promise<number>
  /** The same, in a process that ends. */
  writeSync(chunk: Buffer): number
}

interface LogBufferOptions {
  readonly sink: LogSink
  /** Lines that exceed it are dropped. */
  readonly maxBytes?: number
  readonly onDrop: () => void
  /** Called when there is room again, with the number of dropped lines. */
  readonly onRecover: (dropped: number) => void
}

/**
 * Creates a buffer of log lines. It saves most system calls of a busy log, and the process continues while its log
 * cannot be written.
 */
export function createLogBuffer(options: LogBufferOptions) {
  const { sink, maxBytes = 8 * 1024 * 1024, onDrop, onRecover } = options
  /** Lines are dropped until an eighth is free: the log names many dropped lines of a slow reader at once. */
  const recoveredBytes = maxBytes * (7 / 8)
  /** Whole lines, the oldest first. The first chunk can be the rest of one that was written in part. */
  const chunks: Buffer[] = []
  let lines = ''
  let lineBytes = 0
  let allBytes = 0
  let dropped = 0
  let isWriting = false
  let isFailing = false
  let isScheduled = false

  /** Adds a line, which is written some milliseconds later. Never waits for the sink. */
  function write(line: string): void {
    const length = Buffer.byteLength(line)
    if (dropped > 0 || allBytes + length > maxBytes) {
      dropped += 1
      onDrop()
    } else {
      if (lineBytes + length > chunkBytes) {
        closeChunk()
        if (!isFailing) writeChunks()
      }
      lines += line
      lineBytes += length
      allBytes += length
    }
    writeSoon()
  }

  function closeChunk(): void {
    if (lines === '') return
    chunks.push(Buffer.from(lines))
    lines = ''
    lineBytes = 0
  }

  function writeSoon(): void {
    if (isScheduled) return
    isScheduled = true
    setTimeout(() => {
      isScheduled = false
      closeChunk()
      writeChunks()
      recover()
    }, pauseMilliseconds).unref()
  }

  async function writeChunks(): Promise<void> {
    if (isWriting) return
    isWriting = true
    try {
      for (let chunk = chunks[0]; chunk; chunk = chunks[0]) {
        const written = sink.write(chunk)
        // Without a wait after a synchronous write: the process could end meanwhile, and write the chunk again.
        remove(typeof written === 'number' ? written : await written)
      }
      isFailing = false
    } catch {
      isFailing = true
      writeSoon()
    }
    isWriting = false
  }

  /** Removes the written part of the first chunk. */
  function remove(written: number): void {
    const rest = chunks[0]?.subarray(written)
    if (rest?.length) chunks[0] = rest
    else chunks.shift()
    allBytes -= written
    recover()
  }

  function recover(): void {
    if (dropped === 0 || allBytes > recoveredBytes) return
    const count = dropped
    dropped = 0
    onRecover(count)
  }

  /** Writes the remaining lines before the process ends. Blocks the event loop, for a second at most. */
  function end(): void {
    const deadline = performance.now() + endMilliseconds
    closeChunk()
    if (isWriting) {
      // The thread finishes this write before the process ends, but its result no longer arrives.
      chunks.shift()
      sleepSync(otherThreadMilliseconds)
    }
    isWriting = true
    for (let chunk = chunks[0]; chunk && performance.now() < deadline; chunk = chunks[0]) {
      try {
        remove(sink.writeSync(chunk))
        closeChunk()
      } catch {
        sleepSync(pauseMilliseconds)
      }
    }
  }

  return { write, end }
}

function sleepSync(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}
