import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { getSystemErrorMap } from 'node:util'
import { OperatorError } from '../../errors.ts'
import { sync } from './durable-files.ts'
import { lockFolder } from './folder-lock.ts'

/** The mode of the data folder: only its owner can open it and its files. */
export const onlyOwner = 0o700

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

/** Creates a folder and its parents. `mkdirSync` with `recursive` never returns where no folder can be created, such as in /proc. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return
  const parent = path.dirname(folder)
  createFolder(parent)
  try {
    mkdirSync(folder, { mode: onlyOwner })
  } catch (error) {
    // Another process has created it meanwhile.
    if (!existsSync(folder)) throw error
  }
  sync(parent)
}
