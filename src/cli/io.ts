import type { Readable, Writable } from 'node:stream'
import type { openDatabase } from '../database.ts'

/** Where a command writes. On a terminal it writes tables and progress bars. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/**
 * What a command uses of its process: `process` itself, or what tests pass that run commands within their own process.
 */
export interface Io {
  readonly stdin: Readable
  readonly stdout: Output
  readonly stderr: Output
  readonly env: NodeJS.ProcessEnv
  /** Opens the configured database; by default as the gateway does. Tests pass one that is open already. */
  readonly openDatabase?: typeof openDatabase
  /** The exit code. A command sets it if it has nothing more to say, and has failed. */
  exitCode?: NodeJS.Process['exitCode']
}
