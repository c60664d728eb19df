import fs from 'node:fs'
import path from 'node:path'
import type { PGlite, PGliteOptions } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'

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
