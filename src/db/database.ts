import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import type { DatabaseLocation } from '../config.ts'
import { type BatchedRead, createBatchedRead } from './batch.ts'
import { type CreateRow, createCreateRow } from './create.ts'
import { type DataModel, readDataModel } from './data-model.ts'
import type { Driver } from './driver.ts'
import { openEmbedded } from './embedded.ts'
import { PrismaClient } from './generated/prisma/client.ts'
import { createListRead, type ListRead } from './list.ts'
import type { StatementObserver } from './observed-adapter.ts'
import { openPostgresql } from './postgresql.ts'
import type { ReplicaObserver } from './replica.ts'
import type { MayLag } from './route-reads.ts'

/** The open database: Prisma Client for most writes, its driver adapter for reads. */
export interface Database {
  readonly prisma: PrismaClient
  readonly read: BatchedRead
  readonly list: ListRead
  readonly create: CreateRow
  /** The adapter itself, for the few statements that are written by hand. */
  readonly sql: SqlDriverAdapter
  readonly model: DataModel
  readonly driver: Driver
  /** Ends every connection. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Shown every SQL statement before it is sent. */
  readonly observe?: StatementObserver
  /** Told how many keys each batched read reads at once. */
  readonly onBatch?: (size: number) => void
  /** Told of a connection that broke while nobody used it. */
  readonly onIdleError?: (error: Error) => void
  /** Whether what is read now may come from a replica; nothing does when absent. */
  readonly mayLag?: MayLag
  /** Told of each replica that is used or left out from now on. */
  readonly onReplica?: ReplicaObserver
}

/** Opens the database at a location. Neither migrates it nor sends it anything yet. */
export async function openDatabase(location: DatabaseLocation, options: DatabaseOptions = {}): Promise<Database> {
  const { observe = () => undefined, onIdleError = () => undefined } = options
  const driver =
    location.kind === 'postgresql'
      ? openPostgresql(location.url, { ...options, ...location, observe, onIdleError })
      : await openEmbedded(location.dataDir, { observe })
  return createDatabase(driver, options)
}

/** A database over a driver that is open already. Closing the one closes the other. */
export async function createDatabase(
  driver: Driver,
  { onBatch }: Pick<DatabaseOptions, 'onBatch'> = {},
): Promise<Database> {
  const prisma = new PrismaClient({ adapter: driver.adapters })
  const model = readDataModel(prisma)
  const sql = await driver.adapters.connect()
  return {
    prisma,
    read: createBatchedRead(sql, model, onBatch),
    list: createListRead(sql, model),
    create: createCreateRow(sql, model),
    sql,
    model,
    driver,
    async close() {
      await prisma.$disconnect()
      await driver.close()
    },
  }
}
