import { AsyncLocalStorage } from 'node:async_hooks'
import type { SqlDriverAdapter, SqlQueryable } from '@prisma/driver-adapter-utils'
import { type AdapterOptions, createAdapters, type StatementObserver } from './adapter.ts'
import { type DataModel, dataModel } from './data-model.ts'
import type { Driver } from './driver.ts'
import { PrismaClient } from './generated/prisma/client.ts'
import type { JoinedTransaction } from './joined-transaction.ts'
import type { DatabaseLocation } from './location.ts'
import { openPostgres, type PostgresObservers } from './postgres/postgres.ts'
import { createReads, type Reads } from './read/reads.ts'
import { type AfterCommit, createAfterCommit, createTransact, type Transact } from './transactions.ts'
import { createInserts, type Inserts } from './write/insert.ts'
import { createOwnedRows } from './write/owned-rows.ts'

/**
 * An open database. Prisma Client finds single rows, and writes what a tenant sets up; everything else bypasses its
 * query engine.
 */
export interface Database extends Inserts {
  readonly prisma: PrismaClient
  /** Sends statements written by hand. */
  readonly sql: SqlDriverAdapter
  /** Sends the statements of probes, which wait for no request. */
  readonly probe: SqlQueryable
  readonly reads: Reads
  /** The writes of many rows of an owner. */
  readonly rowsOf: ReturnType<typeof createOwnedRows>
  readonly transact: Transact
  readonly afterCommit: AfterCommit
  readonly model: DataModel
  readonly driver: Driver
  close(): Promise<void>
}

export interface DatabaseOptions extends PostgresObservers, Pick<AdapterOptions, 'actorOf' | 'runWrite'> {
  readonly observe?: StatementObserver
  /**
   * Whether a new embedded database may have all migrations from the start: it is then a copy of an image, which takes
   * less time.
   */
  readonly usesImage?: boolean
  /** Called with the number of keys of each batched read. */
  readonly onBatch?: (size: number) => void
}

/** Opens the database at a location. Neither migrates it nor sends it anything yet. */
export async function openDatabase(location: DatabaseLocation, options: DatabaseOptions = {}): Promise<Database> {
  const driver =
    location.kind === 'postgresql'
      ? openPostgres(location.url, { ...options, ...location })
      : // PGlite is loaded only where it is used.
        await (await import('./embedded/embedded.ts')).openEmbedded(location.dataDir, options)
  return createDatabase(driver, options)
}

/** Creates the database of an open driver. Closing it closes the driver. */
export async function createDatabase(
  driver: Driver,
  { observe, onBatch, actorOf, runWrite }: Pick<DatabaseOptions, 'observe' | 'onBatch' | 'actorOf' | 'runWrite'> = {},
): Promise<Database> {
  const current = new AsyncLocalStorage<JoinedTransaction>()
  const observed = observe && { observe }
  const adapters = createAdapters(driver, { current, actorOf, runWrite, ...observed })
  const prisma = new PrismaClient({ adapter: adapters })
  const sql = await adapters.connect()
  const { probing = driver } = driver
  return {
    ...createInserts(sql, dataModel),
    prisma,
    sql,
    probe: await createAdapters(probing, { ...observed }).connect(),
    reads: createReads(sql, dataModel, onBatch),
    rowsOf: createOwnedRows(sql, dataModel),
    transact: createTransact(sql, current),
    afterCommit: createAfterCommit(current),
    model: dataModel,
    driver,
    async close() {
      await prisma.$disconnect()
      await driver.close()
    },
  }
}
