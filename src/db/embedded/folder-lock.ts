import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { OperatorError } from '../../errors.ts'

/**
 * Locks a folder with a file that names this process. Two processes that use one PGlite folder would destroy it, and
 * PGlite does not check.
 *
 * @returns unlocks the folder
 * @throws OperatorError if a running process has locked the folder
 */
export function lockFolder(folder: string): () => void {
  const file = path.join(folder, 'gateway.pid')
  const own = `${file}.${process.pid}`
  writeFileSync(own, `${process.pid}\n`)
  try {
    for (let attempt = 0; ; attempt += 1) {
      // A link appears whole or not at all, so a lock always names its process.
      if (tryToLink(own, file)) return () => unlock(file)
      const holder = readHolder(file)
      if (attempt > 0 || (holder !== undefined && isRunning(holder))) {
        throw new OperatorError(
          `The data folder ${folder} is open in process ${holder}. Stop it first, or choose another DATA_DIR.\n` +
            `If that process is not a gateway, delete ${file}.`,
        )
      }
      removeStaleLock(file, holder)
    }
  } finally {
    rmSync(own, { force: true })
  }
}

/** Removes the lock if it is this process's own. */
function unlock(file: string): void {
  if (readHolder(file) === process.pid) rmSync(file, { force: true })
}

/** Removes the lock of a process that has ended. If another process has locked the folder meanwhile, its lock stays. */
function removeStaleLock(file: string, holder: number | undefined): void {
  const aside = `${file}.${process.pid}.old`
  try {
    renameSync(file, aside)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
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
    if (hasCode(error, 'EEXIST')) return false
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

/** A lock with this process's own number is stale: a container gives its processes the same numbers at each start. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}

/** Whether the process has ended and its parent has not read its status. In a container it may never do so. */
function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))
  } catch {
    return false
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
