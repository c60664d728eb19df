import { write, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import type { LogSink } from './log-buffer.ts'

/** The part of Node's handle of a pipe, a socket or a terminal that `process.stdout` does not show. */
interface StreamHandle {
  setBlocking(isBlocking: boolean): number
}

const writeAsync = promisify(write)

/**
 * Creates the sink that is the standard output of this process.
 *
 * A disk can be slow, so another thread writes to a file. Writes to a pipe, a socket or a terminal return at once in non-blocking mode. In
 * blocking mode, a reader that does not read would block the event loop. On another thread it would block the end of the process, which
 * waits for its threads. All processes that inherit a descriptor share its mode, and Node changes the mode whenever one of them starts or
 * ends. Each write therefore sets the mode.
 */
export function createStdoutSink(): LogSink {
  const { fd, _handle: handle } = process.stdout as typeof process.stdout & { readonly _handle?: StreamHandle }
  if (!handle) {
    return {
      write: async (chunk) => (await writeAsync(fd, chunk)).bytesWritten,
      writeSync: (chunk) => writeSync(fd, chunk),
    }
  }
  const writeNow = (chunk: Buffer) => {
    handle.setBlocking(false)
    return writeSync(fd, chunk)
  }
  return { write: writeNow, writeSync: writeNow }
}
