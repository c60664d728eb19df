import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { hostname } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { OperatorError } from '@fusion-gateway/base'

const lockName = 'gateway.lock'

/** How long the holder of a lock may take to send its name. */
const responseMilliseconds = 1_000

/**
 * Locks a folder. Two processes that use one PGlite folder would destroy it, and PGlite does not check.
 *
 * The lock is a socket in the folder on which this process listens. The kernel closes it when the process ends for any
 * reason. Unlike process ids, it works across the containers of a machine. It does not work between machines that share
 * a network file system.
 *
 * @returns unlocks the folder
 * @throws OperatorError if a running process has locked the folder
 */
export async function lockFolder(folder: string): Promise<() => void> {
  const descriptor = openSync(folder, 'r')
  // The address of a socket has at most 107 bytes, and the path of the folder can be longer.
  const short = `/proc/self/fd/${descriptor}`
  const pathOf = (name: string) => path.join(existsSync(short) ? short : folder, name)
  const lock = pathOf(lockName)
  // Not the process id: processes in two containers can have the same.
  const ownLock = pathOf(`${lockName}.${randomUUID().slice(0, 8)}`)
  const server = createServer((socket) => {
    socket.on('error', () => undefined).end(`process ${process.pid} on ${hostname()}`)
  }).unref()
  try {
    await once(server.listen(ownLock), 'listening')
    for (let attempt = 0; !tryToLink(ownLock, lock); attempt += 1) {
      const found = inodeOf(lock)
      const holder = await findHolder(lock)
      if (holder !== undefined || attempt > 2) throw isOpen(folder, holder ?? 'another process')
      removeStaleLock(lock, found, `${ownLock}.old`)
    }
  } catch (error) {
    server.close()
    closeSync(descriptor)
    throw error
  }
  const inode = inodeOf(ownLock)
  rmSync(ownLock, { force: true })
  return () => {
    if (inodeOf(lock) === inode) rmSync(lock, { force: true })
    server.close()
    closeSync(descriptor)
  }
}

function isOpen(folder: string, holder: string): OperatorError {
  return new OperatorError(`The data folder ${folder} is open in ${holder}. Stop it first, or choose another DATA_DIR.`)
}

/**
 * Removes the lock of a process that has ended. If another process has locked the folder meanwhile, its lock stays.
 *
 * @param inode of the lock that was found stale
 */
function removeStaleLock(lock: string, inode: number | undefined, aside: string): void {
  try {
    renameSync(lock, aside)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  if (inodeOf(aside) !== inode) tryToLink(aside, lock)
  rmSync(aside, { force: true })
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

/** The process that listens on a socket; undefined if none does. */
async function findHolder(socketPath: string): Promise<string | undefined> {
  const socket = connect(socketPath)
  socket.setTimeout(responseMilliseconds, () => socket.destroy())
  try {
    await once(socket, 'connect')
  } catch (error) {
    // No process listens on the socket, or its file was removed.
    if (hasCode(error, 'ECONNREFUSED') || hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  // A process that is busy does not answer, and still has the lock.
  return (await text(socket).catch(() => '')) || 'another process'
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

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
