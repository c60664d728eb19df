import { type DataModel, dataModel } from './data-model.ts'
import type { Driver } from './driver.ts'
import { PrismaClient } from './generated/prisma/client.ts'
import type { DatabaseLocation } from './location.ts'
import { openPostgres, type PostgresObservers } from './postgres/postgres.ts'
import { createReads, type Reads } from './read/reads.ts'
import { Sql, type SqlOptions } from './sql.ts'
import { trees, type ViewerClient, type ViewerRows } from './trees.ts'

/** An open database. */
export interface Database {
  /** Prisma Client, for the rows that operators set up. It takes no part in the transactions of `sql`. */
  readonly prisma: PrismaClient
  /** Prisma Client with the extension that reads and writes for viewers. */
  readonly trees: { of(viewer: ViewerRows): ViewerClient }
  /** Sends the statements of the gateway itself. `sql.for(request)` sends those of a request. */
  readonly sql: Sql
  /** Sends the statements of probes and checks of the log, which wait for no request. */
  readonly probe: Sql
  readonly reads: Reads
  readonly model: DataModel
  readonly driver: Driver
  close(): Promise<void>
}

export interface DatabaseOptions extends PostgresObservers, SqlOptions {
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
export function createDatabase(
  driver: Driver,
  { observe, onBatch, runWrite }: Pick<DatabaseOptions, 'observe' | 'onBatch' | 'runWrite'> = {},
): Database {
  const prisma = new PrismaClient({ adapter: driver.prismaAdapter })
  return {
    prisma,
    trees: prisma.$extends(trees),
    sql: new Sql(driver, { observe, runWrite }),
    probe: new Sql(driver.probing ?? driver, { observe }),
    reads: createReads(dataModel, onBatch),
    model: dataModel,
    driver,
    async close() {
      await prisma.$disconnect()
      await driver.close()
    },
  }
}
