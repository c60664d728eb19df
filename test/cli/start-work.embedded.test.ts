import { unlimited } from '@fusion-gateway/limits'
import { createLogger } from '@fusion-gateway/telemetry'
import { expect, it } from 'vitest'
import { createServices } from '../../src/domain/services.ts'
import { startWork } from '../../src/server/start-work.ts'
import { createTestDatabase } from '../support/database.ts'
import { settings } from '../support/settings.ts'

it('a process removes keys that ended long ago, and gathers the statistics of the embedded database that plans are chosen by', async () => {
  const database = await createTestDatabase()
  await database.prisma.tenantApp.createMany({
    data: Array.from({ length: 50 }, (_, index) => ({ id: `ten_${index}`, name: `Tenant ${index}` })),
  })
  const ended = { id: 'key_1', hash: 'x', name: 'n', expiresAt: new Date(Date.now() - 31 * 86_400_000) }
  await database.prisma.apiKey.create({ data: { tenantAppId: 'ten_0', ...ended } })
  const services = createServices(database, settings)
  const estimate = async () => {
    const rows = await database.prisma.$queryRaw<
      { reltuples: number }[]
    >`SELECT reltuples FROM pg_class WHERE relname = 'tenant_app'`
    return rows[0]?.reltuples
  }
  expect(await estimate()).not.toBe(50)
  const logger = createLogger({ logLevel: 'silent' })
  const { stop } = startWork(services, {
    ...settings,
    logger,
    rateLimit: unlimited,
    eventRetentionDays: 0,
    jobRetentionDays: 0,
    shutdownMilliseconds: 2_000,
    concurrency: 1,
  })
  while ((await estimate()) !== 50) await new Promise(setImmediate)
  expect(await database.prisma.apiKey.count()).toBe(0)
  await stop()
  await services.events.close()
  await database.close()
})
