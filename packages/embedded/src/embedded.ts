import { existsSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { PGlite, type PGliteOptions, type Transaction } from '@electric-sql/pglite'
import { btree_gin } from '@electric-sql/pglite/contrib/btree_gin'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import { OperatorError } from '@fusion-gateway/base'
import type { Connector, Driver, Send } from '@fusion-gateway/sql'
import { valueTypes } from '@fusion-gateway/sql'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  closeToOthers,
  copyAside,
  DurableFiles,
  durableParams,
  requireSpace,
  sync,
  syncTree,
  takeFolder,
} from './data-folder.ts'
import { unpackImage } from './image.ts'
import { createPool, send } from './node-postgres.ts'
import { beginTransaction } from './transaction.ts'

/** The extensions that the migrations create. */
const extensions = { btree_gin, pg_trgm }

/**
 * Opens the embedded database: PostgreSQL as WebAssembly, in this process.
 *
 * @param dataDir the folder of the database, created if missing; `memory` stores nothing
 * @param options.usesImage whether a new database may have all migrations from the start
 * @throws OperatorError if another process uses the folder, nothing can be written in it, or its files are damaged
 */
export async function openEmbedded(
  dataDir: string,
  { usesImage = false }: { readonly usesImage?: boolean | undefined } = {},
): Promise<Driver> {
  if (dataDir === 'memory') return createEmbeddedDriver(await createPglite({}))
  const unlock = await takeFolder(dataDir)
  closeToOthers(dataDir)
  try {
    return {
      ...createEmbeddedDriver(await openFiles(dataDir, usesImage), unlock),
      copyAside: (name) => copyAside(dataDir, name),
      requireSpace: () => requireSpace(dataDir),
    }
  } catch (error) {
    unlock()
    throw error
  }
}

/**
 * Opens the database of a locked folder.
 *
 * A new database is created under another name, so that a process that is killed meanwhile leaves no incomplete
 * database.
 */
async function openFiles(dataDir: string, usesImage: boolean): Promise<PGlite> {
  const files = path.join(dataDir, 'pgdata')
  if (!existsSync(files)) {
    const unfinished = `${files}.new`
    rmSync(unfinished, { recursive: true, force: true })
    if (!usesImage || !(await unpackImage(unfinished))) await (await createPglite({ dataDir: unfinished })).close()
    await syncTree(unfinished)
    renameSync(unfinished, files)
    sync(dataDir)
  }
  // PostgreSQL's own lock. The folder is locked already, and after a loss of power this file may be empty: PostgreSQL
  // would not start.
  rmSync(path.join(files, 'postmaster.pid'), { force: true })
  try {
    // PGlite would create a new database over the files.
    if (!existsSync(path.join(files, 'PG_VERSION'))) throw new Error('The file PG_VERSION is missing')
    return await createPglite({ fs: new DurableFiles(files) }, durableParams(startParams))
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw error
    throw new OperatorError(
      `The database in ${files} does not open: its files are damaged, or of another PostgreSQL version. Restore a copy of ${dataDir}, or move it away to start with an empty database.`,
      { cause: error },
    )
  }
}

/**
 * PGlite fills its shared buffers with zeros when it opens. With 128 MB, the default, that takes a third of the time.
 * Its files take descriptors of this process; without a limit it opens every table and index.
 */
const settings = ['shared_buffers=32MB', 'max_files_per_process=100']
const startParams = [...PGlite.defaultStartParams, ...settings.flatMap((setting) => ['-c', setting])]

/**
 * How much code V8 lets a function of WebAssembly run, in bytes, before it optimizes the function, and by default.
 * Opening a database reaches the default in the functions that interpret expressions and parse statements. Optimizing
 * these takes seconds of CPU and 400 MiB, and most commands have ended by then. The budget counts from the creation of
 * the module, so only functions in steady use are optimized.
 */
const tieringBudget = { opening: 2_000_000_000, usual: 13_000_000 }

const unchanged = (text: string) => text

/**
 * PGlite returns values as texts, which `send` parses: it would copy its own parsers, one for each type of array, for
 * every statement that has parsers of its own. That takes as long as a small statement.
 */
const texts: PGlite['parsers'] = new Proxy({}, { get: () => unchanged })

/** Creates an embedded database: PGlite with the extensions of the migrations, in a session that uses UTC. */
export async function createPglite(options: PGliteOptions, params = startParams): Promise<PGlite> {
  setFlagsFromString(`--wasm-tiering-budget=${tieringBudget.opening}`)
  const pglite = await PGlite.create({ ...options, startParams: params, extensions }).finally(() =>
    // The code in the compile cache belongs to the flags with which it was compiled.
    setFlagsFromString(`--wasm-tiering-budget=${tieringBudget.usual}`),
  )
  pglite.parsers = texts
  // The adapter ignores the offset of timestamps, so the session must use UTC wherever it runs.
  await pglite.exec(`SET TIME ZONE 'UTC'`)
  return pglite
}

/**
 * Creates the driver of an open PGlite.
 *
 * @param release called when the driver is closed
 */
export function createEmbeddedDriver(pglite: PGlite, release: () => void = () => undefined): Driver {
  const connector = connectorOf(pglite)
  return {
    ...connector,
    prismaAdapter: new PrismaPg(createPool(pglite)),
    gathersStatistics: false,
    isShared: false,
    // There is one process and one session, so no other gateway can migrate.
    exclusively: (work) => work(connector),
    // There is no connection to lose, so there is never a gap.
    listen: async (channel, { onMessage }) => ({ close: await pglite.listen(channel, onMessage) }),
    connections: () => ({ inUse: 0, idle: 1, waiting: 0 }),
    async close() {
      await pglite.close()
      release()
    },
  }
}

function connectorOf(pglite: PGlite): Connector {
  return {
    send: senderOf(pglite),
    async begin() {
      const { transaction, end } = await beginTransaction(pglite)
      return { send: senderOf(transaction), end }
    },
    // PGlite has a single session, so nothing runs concurrently with the creation of an index.
    runScript: async (script) => void (await pglite.exec(script.replaceAll(' CONCURRENTLY ', ' '))),
  }
}

function senderOf(session: Pick<PGlite | Transaction, 'query'>): Send {
  return async ({ text }, values) => {
    const { rows, rowCount } = await send(session, { text, values, types: valueTypes })
    return { rows, count: rowCount }
  }
}
