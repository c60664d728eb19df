import type { DataModel } from '@fusion-gateway/prisma-trees'
import { createReads, type Reads, trees, type ViewerClient, type ViewerRows } from '@fusion-gateway/prisma-trees'
import { type Driver, Sql, type SqlOptions } from '@fusion-gateway/sql'
import { PrismaClient } from './generated/prisma/client.ts'
import { dataModel } from './model.ts'

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

export interface DatabaseOptions extends SqlOptions {
  readonly onBatch?: (size: number) => void
}

/** Creates the database of an open driver. Closing it closes the driver. */
export function createDatabase(driver: Driver, { observe, onBatch, runWrite }: DatabaseOptions = {}): Database {
  const prisma = new PrismaClient({ adapter: driver.prismaAdapter })
  return {
    prisma,
    trees: prisma.$extends(trees(dataModel)),
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
