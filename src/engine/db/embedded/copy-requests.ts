import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { OperatorError } from '../../errors.ts'
import { copyFolder } from './copy-folder.ts'

const socketName = 'copy.sock'

/** Opens a folder, so that a socket in it has a short address: addresses have at most 107 bytes. */
function openAddress(folder: string): { readonly address: string; close(): void } {
  const descriptor = openSync(folder, 'r')
  const short = `/proc/self/fd/${descriptor}`
  return {
    address: path.join(existsSync(short) ? short : folder, socketName),
    close: () => closeSync(descriptor),
  }
}

/**
 * Copies the data folder of this process when another process of the same user asks for it, by a socket in the folder. The folder must
 * be locked.
 *
 * @returns stops it
 */
export async function serveCopies(dataDir: string): Promise<() => void> {
  const { address, close } = openAddress(dataDir)
  // Of a process that was killed: this one has the lock.
  rmSync(address, { force: true })
  const server = createServer((socket) => {
    const name = `copy-${randomUUID()}`
    socket.on('error', () => undefined)
    try {
      copyFolder(dataDir, path.join(dataDir, name))
      socket.end(name)
    } catch (error) {
      rmSync(path.join(dataDir, name), { recursive: true, force: true })
      socket.end(`failed: ${error instanceof Error ? error.message : String(error)}`)
    }
  }).unref()
  await once(server.listen(address), 'listening')
  return () => {
    server.close()
    close()
  }
}

/**
 * Asks the process that has a data folder open to copy it.
 *
 * @returns the folder of the copy, within the data folder; undefined if no process answers
 * @throws OperatorError if the copy fails
 */
export async function requestCopy(dataDir: string): Promise<string | undefined> {
  const { address, close } = openAddress(dataDir)
  const socket = connect(address)
  try {
    await once(socket, 'connect')
  } catch {
    return undefined
  } finally {
    close()
  }
  const answer = await text(socket)
  if (answer.startsWith('copy-')) return path.join(dataDir, answer)
  throw new OperatorError(`The data folder could not be copied: ${answer}`)
}
