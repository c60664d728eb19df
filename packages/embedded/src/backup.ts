import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { OperatorError } from '@fusion-gateway/base'
import { packTar, unpackTar } from 'modern-tar/fs'
import { listContents, sync, syncTree, takeFolder } from './data-folder.ts'

/**
 * Writes a backup of a data folder that no process has open to a file: a compressed tar archive.
 *
 * @throws OperatorError if the file exists, there is no database in the folder, or a process has it open
 */
export async function backUp(dataDir: string, file: string): Promise<void> {
  if (fs.existsSync(file)) throw new OperatorError(`${file} exists. A backup overwrites nothing.`)
  if (!fs.existsSync(path.join(dataDir, 'pgdata'))) throw new OperatorError(`There is no database in ${dataDir}.`)
  const unlock = await takeFolder(dataDir)
  const unfinished = `${file}.${randomUUID().slice(0, 8)}`
  try {
    const sources = listContents(dataDir).map((target) => {
      const source = path.join(dataDir, target)
      return { target, source, type: fs.statSync(source).isDirectory() ? ('directory' as const) : ('file' as const) }
    })
    await pipeline(packTar(sources), createGzip(), fs.createWriteStream(unfinished, { mode: 0o600 }))
    sync(unfinished)
    // Fails if the file exists by now.
    fs.linkSync(unfinished, file)
  } finally {
    fs.rmSync(unfinished, { force: true })
    unlock()
  }
}

/**
 * Restores a backup into a data folder. The database is moved there last, when it is complete.
 *
 * @throws OperatorError if the folder has a database, is in use, or the file is not a backup
 */
export async function restore(dataDir: string, file: string): Promise<void> {
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) throw new OperatorError(`${file} is not a file.`)
  const unlock = await takeFolder(dataDir)
  const unfinished = path.join(dataDir, `restore-${randomUUID()}`)
  try {
    fs.mkdirSync(unfinished, { mode: 0o700 })
    await extract(file, unfinished)
    await syncTree(unfinished)
    const names = fs.readdirSync(unfinished)
    if (names.some((name) => fs.existsSync(path.join(dataDir, name)))) {
      throw new OperatorError(`${dataDir} has a database. Move it away, or choose another DATA_DIR.`)
    }
    // The database last: without it, the folder counts as empty.
    for (const name of [...names.filter((name) => name !== 'pgdata'), 'pgdata']) {
      fs.renameSync(path.join(unfinished, name), path.join(dataDir, name))
    }
    sync(dataDir)
  } finally {
    fs.rmSync(unfinished, { recursive: true, force: true })
    unlock()
  }
}

/** @throws OperatorError if the file is not a complete archive of a data folder, and of nothing else */
async function extract(file: string, target: string): Promise<void> {
  const names = new Set<string>()
  let isForeign = false
  const unpack = unpackTar(target, {
    strict: true,
    filter({ name, type }) {
      names.add(name)
      if (name.includes('..') || !['file', 'directory'].includes(type ?? 'file')) isForeign = true
      return !isForeign
    },
  })
  try {
    await pipeline(fs.createReadStream(file), createGunzip(), unpack)
  } catch (error) {
    throw new OperatorError(`${file} is not a complete backup.`, { cause: error })
  }
  if (isForeign || !names.has('pgdata/PG_VERSION')) throw new OperatorError(`${file} is not a backup of a data folder.`)
}
