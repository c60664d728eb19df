import fs from 'node:fs'
import path from 'node:path'
import { getSystemErrorMap } from 'node:util'
import type { PGlite, PGliteOptions } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { OperatorError } from '@fusion-gateway/base'
import { lockFolder } from './folder-lock.ts'

type InitResult = Awaited<ReturnType<NodeFS['init']>>

/** A part of PGlite's file system that its types leave out. */
interface FileSystems {
  readonly NODEFS: { readonly stream_ops: { fsync?: (stream: { readonly nfd: number }) => number } }
}

/**
 * The files of a folder, with PostgreSQL's fsync passed on to the disk. PGlite omits fsync, so a loss of power could
 * destroy committed rows or the whole database (https://github.com/electric-sql/pglite/issues/1107).
 */
export class DurableFiles extends NodeFS {
  override async init(pglite: PGlite, options: InitResult['emscriptenOpts']): Promise<InitResult> {
    const { emscriptenOpts } = await super.init(pglite, options)
    const syncFiles = (module: unknown) => {
      const { NODEFS } = module as FileSystems
      NODEFS.stream_ops.fsync = ({ nfd }) => {
        fs.fsyncSync(nfd)
        return 0
      }
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), syncFiles] } }
  }
}

/**
 * The parameters with which PostgreSQL uses fsync: without PGlite's `-F`, and with the method that PGlite passes on.
 */
export function durableParams(params: readonly string[]): NonNullable<PGliteOptions['startParams']> {
  return [...params.filter((param) => param !== '-F'), '-c', 'wal_sync_method=fsync']
}

/** As many files are open at a time. A process may have 256, and PGlite keeps up to 100 open. */
const maxOpen = 32

/**
 * Writes a folder and everything in it to the disk. Several files at a time, because the disk then writes the lists of
 * files once for all.
 */
export async function syncTree(folder: string): Promise<void> {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = [folder, ...entries.map(({ parentPath, name }) => path.join(parentPath, name))].values()
  const syncFiles = async () => {
    for (const file of files) await syncLater(file)
  }
  await Promise.all(Array.from({ length: maxOpen }, syncFiles))
}

async function syncLater(file: string): Promise<void> {
  const handle = await fs.promises.open(file, 'r')
  await handle.sync().finally(() => handle.close())
}

/** Writes a file to the disk, or the list of files of a folder. */
export function sync(file: string): void {
  const descriptor = fs.openSync(file, 'r')
  fs.fsyncSync(descriptor)
  fs.closeSync(descriptor)
}

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

/** Copies from before migrations, unfinished work, and what belongs to the file system. */
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
