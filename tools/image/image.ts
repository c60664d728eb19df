import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import type { RunningCommand } from './running-command.ts'

/** The folder of the project. */
export const projectRoot = path.resolve(import.meta.dirname, '../..')

/** The gateway as it is delivered: a container image, or the tree of files that the image contains. */
export interface Image {
  /** How large the files of the gateway are, without Node's own. */
  readonly sizeMib: number
  /** Starts a command of the gateway, such as `serve`. */
  start(command: readonly string[], env?: Readonly<Record<string, string>>): RunningCommand
  /** Kills the commands that run, and removes all files. */
  remove(): Promise<void>
}

/**
 * Runs a command of the gateway and returns what it wrote.
 *
 * @throws AssertionError with its output if it fails
 */
export async function run(image: Image, ...[command, env]: Parameters<Image['start']>): Promise<string> {
  const running = image.start(command, env)
  assert.equal(await running.ended(), 0, running.output())
  return running.output().trim()
}

/** Reads the commit of the working tree. */
export function readCommit(): string {
  return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: projectRoot, encoding: 'utf8' }).trim()
}
