import { constants, cpSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { syncTree } from './durable-files.ts'

/** Copies from before migrations, unfinished files of interrupted commands, and files of the file system. */
const leftOut = /^(before-|restore-)|\.new$|^lost\+found$/

/** Lists the files and folders of a data folder that a copy needs: all but locks, which are sockets, and older copies. */
export function listContents(dataDir: string): string[] {
  const isSocket = (name: string) => statSync(path.join(dataDir, name)).isSocket()
  return readdirSync(dataDir).filter((name) => !leftOut.test(name) && !isSocket(name))
}

/**
 * Copies a data folder. PostgreSQL runs in this process, so it writes nothing meanwhile. The copy has every committed transaction and no
 * other, like the folder of a killed process. The copy shares the blocks of files if the file system supports that.
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
