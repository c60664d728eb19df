// Ours, not sonic-boom, pino's stream: with its bound `maxLength` and asynchronous writes, process.exit() does not end
// a process whose disk is full, because sonic-boom repeats the failed write in a loop that blocks the event loop.

/** The longest chunk: Linux writes so many bytes to a pipe together, so lines of processes do not mix. */
const chunkBytes = 4_096

/** How long a line waits for further lines, and for a sink that accepts nothing. */
const pauseMilliseconds = 10

/** How long the end of the process waits for the sink. */
const endMilliseconds = 1_000

interface LogBufferOptions {
  /** Returns how many bytes of the chunk it wrote. Throws if the sink accepts nothing now. */
  readonly sink: (chunk: Buffer) => number
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
export function createLogBuffer({ sink, maxBytes = 8 * 1024 * 1024, onDrop, onRecover }: LogBufferOptions) {
  /** Lines are dropped until an eighth is free: the log names many dropped lines of a slow reader at once. */
  const recoveredBytes = maxBytes * (7 / 8)
  /** Whole lines, the oldest first. The first chunk can be the rest of one that was written in part. */
  const chunks: Buffer[] = []
  let lines = ''
  let lineBytes = 0
  let allBytes = 0
  let dropped = 0
  let isFailing = false
  /** Since when the sink has accepted nothing. */
  let stalledAt: number | undefined
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
      writeAll()
    }, pauseMilliseconds).unref()
  }

  function writeAll(): void {
    closeChunk()
    writeChunks()
    if (dropped === 0 || allBytes > recoveredBytes) return
    const count = dropped
    dropped = 0
    onRecover(count)
  }

  function writeChunks(): void {
    try {
      for (let chunk = chunks[0]; chunk; chunk = chunks[0]) {
        const written = sink(chunk)
        stalledAt = undefined
        allBytes -= written
        if (written < chunk.length) chunks[0] = chunk.subarray(written)
        else chunks.shift()
      }
      isFailing = false
    } catch {
      isFailing = true
      stalledAt ??= performance.now()
      writeSoon()
    }
  }

  /** Writes the remaining lines before the process ends. Blocks the event loop, for a second at most. */
  function end(): void {
    const deadline = performance.now() + endMilliseconds
    for (writeAll(); allBytes > 0 && performance.now() < deadline; writeAll()) sleepSync(pauseMilliseconds)
  }

  return {
    write,
    end,
    /** How long the sink has accepted nothing, in seconds. */
    stalledSeconds: () => (stalledAt === undefined ? 0 : (performance.now() - stalledAt) / 1_000),
  }
}

function sleepSync(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}
