import { randomUUID } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { packTar, unpackTar } from 'modern-tar/fs'
import { OperatorError } from '../../errors.ts'
import { contents, copyFolder } from './copy-folder.ts'
import { requestCopy } from './copy-requests.ts'
import { sync, syncTree } from './durable-files.ts'
import { lockFolder } from './folder-lock.ts'
import { takeFolder } from './take-folder.ts'

/**
 * Writes a backup of a data folder to a file: a compressed tar archive. It has everything that was committed when it began. A process
 * that has the folder open copies its files first, and answers nothing meanwhile.
 *
 * @throws OperatorError if the file exists, or there is no database in the folder
 */
export async function backUp(dataDir: string, file: string): Promise<void> {
  if (existsSync(file)) throw new OperatorError(`${file} exists. A backup overwrites nothing.`)
  if (!existsSync(path.join(dataDir, 'pgdata'))) throw new OperatorError(`There is no database in ${dataDir}.`)
  const copy = (await requestCopy(dataDir)) ?? (await copyLocked(dataDir))
  const unfinished = `${file}.${randomUUID().slice(0, 8)}`
  try {
    await pipeline(packTar(sourcesIn(copy)), createGzip(), createWriteStream(unfinished, { mode: 0o600 }))
    sync(unfinished)
    // Fails if the file exists by now.
    linkSync(unfinished, file)
  } finally {
    rmSync(unfinished, { force: true })
    rmSync(copy, { recursive: true, force: true })
  }
}

/** What a backup of a folder contains. */
function sourcesIn(folder: string) {
  return contents
    .map((target) => ({ target, source: path.join(folder, target) }))
    .filter(({ source }) => existsSync(source))
    .map((one) => ({ ...one, type: statSync(one.source).isDirectory() ? ('directory' as const) : ('file' as const) }))
}

async function copyLocked(dataDir: string): Promise<string> {
  const unlock = await lockFolder(dataDir)
  const copy = path.join(dataDir, `copy-${randomUUID()}`)
  try {
    copyFolder(dataDir, copy)
  } finally {
    unlock()
  }
  return copy
}

/**
 * Restores a backup into a data folder. The folder gets the database when all of it is there.
 *
 * @throws OperatorError if the folder has a database, is in use, or the file is not a backup
 */
export async function restore(dataDir: string, file: string): Promise<void> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new OperatorError(`${file} is not a file.`)
  const unlock = await takeFolder(dataDir)
  const unfinished = path.join(dataDir, `restore-${randomUUID()}`)
  try {
    for (const name of contents) {
      if (existsSync(path.join(dataDir, name))) {
        throw new OperatorError(`${dataDir} has a database. Move it away, or choose another DATA_DIR.`)
      }
    }
    mkdirSync(unfinished, { mode: 0o700 })
    await extract(file, unfinished)
    syncTree(unfinished)
    // The database last: without it, the folder counts as empty.
    for (const name of contents.toReversed()) {
      if (existsSync(path.join(unfinished, name))) renameSync(path.join(unfinished, name), path.join(dataDir, name))
    }
    sync(dataDir)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
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
      const [top = ''] = name.split('/')
      if (!contents.includes(top) || name.includes('..') || !['file', 'directory'].includes(type ?? 'file'))
        isForeign = true
      return !isForeign
    },
  })
  try {
    await pipeline(createReadStream(file), createGunzip(), unpack)
  } catch (error) {
    throw new OperatorError(`${file} is not a complete backup.`, { cause: error })
  }
  if (isForeign || !names.has('pgdata/PG_VERSION')) throw new OperatorError(`${file} is not a backup of a data folder.`)
}
