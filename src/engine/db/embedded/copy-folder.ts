import { constants, cpSync, existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { syncTree } from './durable-files.ts'

/** What a data folder consists of: the database, and the key of the demo tenant if it has one. */
export const contents = ['pgdata', 'demo-key']

/**
 * Copies a data folder. PostgreSQL runs in this process, so it writes nothing meanwhile, and the copy is what a killed process would leave:
 * every committed transaction, and no other. File systems that can share the blocks of files do so.
 *
 * @param target a folder that does not exist
 */
export function copyFolder(dataDir: string, target: string): void {
  mkdirSync(target, { mode: 0o700 })
  for (const name of contents) {
    const file = path.join(dataDir, name)
    if (!existsSync(file)) continue
    cpSync(file, path.join(target, name), {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      preserveTimestamps: true,
    })
  }
  syncTree(target)
}
