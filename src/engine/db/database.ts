import { AsyncLocalStorage } from 'node:async_hooks'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { createAdapters, type StatementObserver } from './adapter.ts'
import { type DataModel, readDataModel } from './data-model.ts'
import type { Driver } from './driver.ts'
import { PrismaClient } from './generated/prisma/client.ts'
import { createInserts, type Inserts } from './insert.ts'
import type { JoinedTransaction } from './joined-transaction.ts'
import type { DatabaseLocation } from './location.ts'
import { openPostgres } from './postgres/postgres.ts'
import { createReads, type Reads } from './read/reads.ts'
import type { ReplicaObserver } from './replicas/replica.ts'
import type { LaggingReader } from './replicas/route-reads.ts'
import { createTransact, type Transact } from './transactions.ts'

/** An open database. Prisma Client does most writes; reads and frequent writes bypass its query engine. */
export interface Database extends Inserts {
  readonly prisma: PrismaClient
  /** Sends statements written by hand. */
  readonly sql: SqlDriverAdapter
  readonly reads: Reads
  readonly transact: Transact
  readonly model: DataModel
  readonly driver: Driver
  /** Ends every connection. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Observes every SQL statement. */
  readonly observe?: StatementObserver
  /** Called with the number of keys of each batched read. */
  readonly onBatch?: (size: number) => void
  /** Called when an idle connection breaks. */
  readonly onIdleError?: (error: Error) => void
  /** Identifies the request that reads now, if replicas may serve it. Without it no replica is used. */
  readonly laggingReader?: LaggingReader
  /** Called when a replica starts or stops being used. */
  readonly onReplica?: ReplicaObserver
}

/** Opens the database at a location. Neither migrates it nor sends it anything yet. */
export async function openDatabase(location: DatabaseLocation, options: DatabaseOptions = {}): Promise<Database> {
  const driver =
    location.kind === 'postgresql'
      ? openPostgres(location.url, { ...options, ...location })
      : await openFolder(location.dataDir)
  return createDatabase(driver, options)
}

/** PGlite is loaded only where it is used. */
async function openFolder(dataDir: string): Promise<Driver> {
  const { openEmbedded } = await import('./embedded/embedded.ts')
  return openEmbedded(dataDir)
}

/** Creates the database of an open driver. Closing it closes the driver. */
export async function createDatabase(
  driver: Driver,
  { observe, onBatch }: Pick<DatabaseOptions, 'observe' | 'onBatch'> = {},
): Promise<Database> {
  const current = new AsyncLocalStorage<JoinedTransaction>()
  const adapters = createAdapters(driver, { current, ...(observe && { observe }) })
  const prisma = new PrismaClient({ adapter: adapters })
  const sql = await adapters.connect()
  const model = readDataModel(prisma)
  return {
    ...createInserts(sql, model),
    prisma,
    sql,
    reads: createReads(sql, model, onBatch),
    transact: createTransact(sql, current),
    model,
    driver,
    async close() {
      await prisma.$disconnect()
      await driver.close()
    },
  }
}
