import { expect, it } from 'vitest'
import { startWork } from '../../src/cli/process/start-work.ts'
import { createServices } from '../../src/domain/services.ts'
import { openDatabase } from '../../src/engine/db/database.ts'
import { deployMigrations } from '../../src/engine/db/migrations/migrations.ts'
import { createLogger } from '../../src/engine/telemetry/logger.ts'
import { settings } from '../support/settings.ts'

it('a process with the embedded database gathers the statistics that plans are chosen by', async () => {
  const database = await openDatabase({ kind: 'embedded', dataDir: 'memory' })
  await deployMigrations(database)
  await database.prisma.tenantApp.createMany({
    data: Array.from({ length: 50 }, (_, index) => ({ id: `ten_${index}`, name: `Tenant ${index}` })),
  })
  const services = createServices(database, settings)
  const estimate = async () => {
    const rows = await database.prisma.$queryRaw<
      { reltuples: number }[]
    >`SELECT reltuples FROM pg_class WHERE relname = 'tenant_app'`
    return rows[0]?.reltuples
  }
  expect(await estimate()).not.toBe(50)
  const logger = createLogger({ logLevel: 'silent' })
  const stop = startWork(services, { logger, jobRetentionDays: 0, shutdownMilliseconds: 2_000, concurrency: 1 })
  while ((await estimate()) !== 50) await new Promise(setImmediate)
  await stop()
  await services.changes.close()
  await database.close()
})
