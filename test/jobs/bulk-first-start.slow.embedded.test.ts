import { deployMigrations } from '@fusion-gateway/migrate'
import { expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createServices } from '../../src/domain/services.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { settings } from '../support/settings.ts'

it('jobs are cancelled and counted on the first start of the embedded database, which began without tables', async () => {
  const database = await openDatabase({ kind: 'embedded', dataDir: 'memory' })
  await deployMigrations(database)
  const { id: tenantAppId } = await createTenant(database, 'First')
  await database.prisma.job.create({ data: { tenantAppId, id: 'job_1' } })
  const services = createServices(database, settings)
  const selection = { tenantAppId, transition: 'cancel', states: ['PENDING', 'RUNNING'], where: {} } as const
  expect(await services.jobs.countAll(selection)).toBe(1)
  expect(await services.jobs.changeAll(selection, 10)).toBe(1)
  await services.events.close()
  await database.close()
})
