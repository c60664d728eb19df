import { chmodSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { type Connector, createAdapters } from '../adapter.ts'
import type { Driver } from '../driver.ts'
import { lockFolder } from './folder-lock.ts'

/** The mode of the data folder: its owner alone can open it, and so the files within. */
const onlyOwner = 0o700

/**
 * Opens the embedded database: PostgreSQL as WebAssembly, in this process.
 *
 * @param dataDir the folder of the database, created if missing; `memory` stores nothing
 * @param dump the initial content (PGlite's `dumpDataDir`); only with `memory`
 * @throws OperatorError if another process uses the folder
 */
export async function openEmbedded(dataDir: string, dump?: Blob): Promise<Driver> {
  if (dataDir === 'memory') return createEmbeddedDriver(await createPglite(dump ? { loadDataDir: dump } : {}))
  mkdirSync(dataDir, { recursive: true, mode: onlyOwner })
  const unlock = await lockFolder(dataDir)
  closeToOthers(dataDir)
  try {
    return createEmbeddedDriver(await createPglite({ dataDir: path.join(dataDir, 'pgdata') }), unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

/** Older versions created the folder for everyone. A folder of another owner, such as a volume, stays as it is. */
function closeToOthers(dataDir: string): void {
  try {
    chmodSync(dataDir, onlyOwner)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

/** Opens an empty database in memory, in which the schema engine replays migrations. */
export async function connectToShadowDatabase(): Promise<SqlDriverAdapter> {
  return createAdapters(connectorOf(await createPglite({}))).connect()
}

/** PGlite fills its shared buffers with zeros when it opens. With 128 MB, the default, that takes a third of the time. */
const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB']

async function createPglite(options: { dataDir?: string; loadDataDir?: Blob }): Promise<PGlite> {
  const pglite = await PGlite.create({ ...options, startParams })
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
    undoesInterruptedMigrations: true,
    gathersStatistics: false,
    // There is one process and one session, so no other gateway can migrate.
    exclusively: (work) => work(connector),
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

function connectorOf(pglite: PGlite): Connector {
  return {
    factory: new PrismaPGlite(pglite),
    runScript: async (script) => void (await pglite.exec(script)),
    connectToShadowDatabase,
  }
}
