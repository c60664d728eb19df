import { constants, cpSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { syncTree } from './durable-files.ts'

/** Copies that were made before migrations, what an interruption has left unfinished, and what belongs to the file system. */
const leftOut = /^(before-|restore-)|\.new$|^lost\+found$/

/** Lists the files and folders of a data folder that belong into a copy of it: all but locks, which are sockets, and older copies. */
export function listContents(dataDir: string): string[] {
  const isSocket = (name: string) => statSync(path.join(dataDir, name)).isSocket()
  return readdirSync(dataDir).filter((name) => !leftOut.test(name) && !isSocket(name))
}

/**
 * Copies a data folder. PostgreSQL runs in this process, so it writes nothing meanwhile, and the copy is what a killed process would leave:
 * every committed transaction, and no other. File systems that can share the blocks of files do so.
 *
 * @param target a folder that does not exist
 */
export function copyFolder(dataDir: string, target: string): void {
  mkdirSync(target, { mode: 0o700 })
  for (const name of listContents(dataDir)) {
    cpSync(path.join(dataDir, name), path.join(target, name), {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      preserveTimestamps: true,
    })
  }
  syncTree(target)
}
