import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { SqlDriverAdapter, SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { fromPglite } from 'pg-boss'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import type { Driver } from './driver.ts'
import { lockFolder } from './folder-lock.ts'
import { joinTransactions } from './join-transactions.ts'
import { observeAdapters, type StatementObserver } from './observed-adapter.ts'

export interface EmbeddedOptions {
  readonly observe: StatementObserver
  /** A dump to begin with (PGlite's `dumpDataDir`); only for a database in memory. */
  readonly dump?: Blob
}

/**
 * Opens the embedded database: PostgreSQL as WebAssembly, in this process.
 *
 * @param dataDir the folder that holds it, made when missing; `memory` keeps nothing
 * @throws OperatorError when another process has the folder open
 */
export async function openEmbedded(dataDir: string, { observe, dump }: EmbeddedOptions): Promise<Driver> {
  if (dataDir === 'memory') {
    const pglite = await createPglite(dump ? { loadDataDir: dump } : {})
    return createEmbeddedDriver(pglite, observe)
  }
  mkdirSync(dataDir, { recursive: true })
  const unlock = lockFolder(dataDir)
  try {
    const pglite = await createPglite({ dataDir: path.join(dataDir, 'pgdata') })
    return createEmbeddedDriver(pglite, observe, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

/** A database in memory in which the schema engine replays migrations, to compare them with schema.prisma. */
export async function connectToShadowDatabase(): Promise<SqlDriverAdapter> {
  return adaptersOf(await createPglite({}), () => undefined).connect()
}

async function createPglite(options: { dataDir?: string; loadDataDir?: Blob }): Promise<PGlite> {
  const pglite = await PGlite.create(options)
  // The adapter drops the offset of every timestamp it reads, so the session must speak UTC wherever it runs.
  await pglite.exec(`SET TIME ZONE 'UTC'`)
  return pglite
}

/** The driver of an embedded database that is open already. */
export function createEmbeddedDriver(
  pglite: PGlite,
  observe: StatementObserver,
  release: () => void = () => undefined,
): Driver {
  const { adapters, ...transactions } = joinTransactions(adaptersOf(pglite, observe))
  return {
    ...{ adapters, transactions },
    undoesInterruptedMigrations: true,
    queue: { db: fromPglite(pglite), backend: 'pglite' },
    // One process, one session: nobody else can be migrating.
    exclusively: (work) => work(adapters),
    // There is no connection to lose, so there is never a gap.
    async listen(channel, { onMessage }) {
      const close = await pglite.listen(channel, onMessage)
      return { close: () => close() }
    },
    connections: () => ({ inUse: 0, idle: 1, waiting: 0 }),
    async close() {
      await pglite.close()
      release()
    },
  }
}

function adaptersOf(pglite: PGlite, observe: StatementObserver): SqlMigrationAwareDriverAdapterFactory {
  return observeAdapters(
    new PrismaPGlite(pglite),
    observe,
    async (script) => void (await pglite.exec(script)),
    connectToShadowDatabase,
  )
}
