import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { OperatorError } from '../operator.ts'

/**
 * Keeps a second process out of a folder, by a file that names the process that has it.
 * Two processes on one PGlite folder would destroy it, and PGlite itself does not look.
 *
 * @returns the function that gives the folder back
 * @throws OperatorError when a living process has it
 */
export function lockFolder(folder: string): () => void {
  const file = path.join(folder, 'gateway.pid')
  const mine = `${file}.${process.pid}`
  writeFileSync(mine, `${process.pid}\n`)
  try {
    for (let attempt = 0; ; attempt += 1) {
      // A link appears whole or not at all, so nobody ever reads a lock that does not name its process yet.
      if (tryToLink(mine, file)) return () => unlock(file)
      const holder = readHolder(file)
      if (attempt > 0 || (holder !== undefined && isAlive(holder))) {
        throw new OperatorError(
          `The data folder ${folder} is open in process ${holder}. Stop it first, or choose another DATA_DIR.\n` +
            `If that process is not a gateway, delete ${file}.`,
        )
      }
      takeAway(file, holder)
    }
  } finally {
    rmSync(mine, { force: true })
  }
}

/** Gives back our own lock, and nobody else's. */
function unlock(file: string): void {
  if (readHolder(file) === process.pid) rmSync(file, { force: true })
}

/** Takes a left-over lock away; if somebody else has been faster and holds the folder by now, puts theirs back. */
function takeAway(file: string, holder: number | undefined): void {
  const aside = `${file}.${process.pid}.old`
  try {
    renameSync(file, aside)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return
    throw error
  }
  if (readHolder(aside) !== holder) tryToLink(aside, file)
  rmSync(aside, { force: true })
}

function tryToLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

function readHolder(file: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(file, 'utf8'), 10)
    return Number.isInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

/** A file with our own number is left over: a container starts its processes with the same numbers each time. */
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return isCode(error, 'EPERM')
  }
}

/** Whether the process has ended, and only waits for a parent that does not look: in a container, often for ever. */
function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))
  } catch {
    return false
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
