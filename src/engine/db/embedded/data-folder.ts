import fs from 'node:fs'
import path from 'node:path'
import { getSystemErrorMap } from 'node:util'
import { OperatorError } from '../../errors.ts'
import { sync, syncTree } from './durable-files.ts'
import { lockFolder } from './folder-lock.ts'

/** The mode of the data folder: its owner alone can open it, and so the files within. */
const onlyOwner = 0o700

/**
 * Creates a data folder if it is missing, and locks it.
 *
 * @returns unlocks the folder
 * @throws OperatorError if another process has locked it, or nothing can be written in it
 */
export async function takeFolder(dataDir: string): Promise<() => void> {
  try {
    createFolder(path.resolve(dataDir))
    return await lockFolder(dataDir)
  } catch (error) {
    const { errno, code } = error as NodeJS.ErrnoException
    if (errno === undefined) throw error
    const [, reason] = getSystemErrorMap().get(errno) ?? []
    throw new OperatorError(`The data folder ${dataDir} cannot be used: ${reason} (${code}). Choose another DATA_DIR.`)
  }
}

/**
 * Creates a folder and its parents. `mkdirSync` with `recursive` does not return where no folder can be created, such
 * as /proc.
 */
function createFolder(folder: string): void {
  if (fs.existsSync(folder)) return
  const parent = path.dirname(folder)
  createFolder(parent)
  try {
    fs.mkdirSync(folder, { mode: onlyOwner })
  } catch (error) {
    // Another process has created it meanwhile.
    if (!fs.existsSync(folder)) throw error
  }
  sync(parent)
}

/** Older versions created the folder for everyone. A folder of another owner, such as a volume, stays as it is. */
export function closeToOthers(dataDir: string): void {
  try {
    fs.chmodSync(dataDir, onlyOwner)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

/** PostgreSQL writes its log in files of this size. */
const logFileMib = 16

/** @throws if there is no space for what is written next */
export function requireSpace(dataDir: string): void {
  const { bavail, bsize } = fs.statfsSync(dataDir)
  const freeMib = Math.floor((bavail * bsize) / 2 ** 20)
  if (freeMib < logFileMib) throw new Error(`The disk of ${dataDir} has ${freeMib} MiB left, less than ${logFileMib}`)
}

/**
 * Copies that were made before migrations, what an interruption has left unfinished, and what belongs to the file
 * system.
 */
const leftOut = /^(before-|restore-)|\.new$|^lost\+found$/

/**
 * Lists the files and folders of a data folder that belong into a copy of it: all but locks, which are sockets, and
 * older copies.
 */
export function listContents(dataDir: string): string[] {
  const isSocket = (name: string) => fs.statSync(path.join(dataDir, name)).isSocket()
  return fs.readdirSync(dataDir).filter((name) => !leftOut.test(name) && !isSocket(name))
}

/**
 * Copies a data folder within itself, unless the copy exists. PostgreSQL runs in this process, so it writes nothing
 * meanwhile, and the copy is what a killed process would leave: every committed transaction, and no other. File systems
 * that can share the blocks of files do so.
 *
 * @returns the copy
 */
export async function copyAside(dataDir: string, name: string): Promise<string> {
  const target = path.join(dataDir, name)
  if (fs.existsSync(target)) return target
  const unfinished = `${target}.new`
  fs.rmSync(unfinished, { recursive: true, force: true })
  fs.mkdirSync(unfinished, { mode: onlyOwner })
  for (const entry of listContents(dataDir)) {
    fs.cpSync(path.join(dataDir, entry), path.join(unfinished, entry), {
      recursive: true,
      mode: fs.constants.COPYFILE_FICLONE,
      preserveTimestamps: true,
    })
  }
  await syncTree(unfinished)
  fs.renameSync(unfinished, target)
  sync(dataDir)
  return target
}
