import { randomUUID } from 'node:crypto'
import type { Database } from '@fusion-gateway/database'
import { deployMigrations, readMigrationStatus } from '@fusion-gateway/migrate'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { createDatabaseOfOwner, dropDatabase, hasServer, ownerUrl } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'
import { killedAfter } from './killed-driver.ts'

/**
 * The statements before the migration that creates indexes: four about the table of migrations, and of each migration
 * the record of its start, and its script with the record of its end.
 */
const transactionalSteps = 22

describe.skipIf(!hasServer)('migrate deploy that is killed', () => {
  let name: string
  let database: Database
  beforeEach(async () => {
    name = `fusion_killed_${randomUUID().slice(0, 8)}`
    await createDatabaseOfOwner(name)
    database = await openDatabase(locationOf(ownerUrl(name)))
  })
  afterEach(async () => {
    await database.close()
    await dropDatabase(name)
  })

  it('after any of its statements is completed by the next one', async () => {
    let steps = 0
    for (let isKilled = true; isKilled; ) {
      // The migration of indexes drops and creates one index after the other. Each of them is killed in one of several
      // runs.
      steps += steps < transactionalSteps ? 1 : 7
      isKilled = await deployMigrations({ ...database, driver: killedAfter(database.driver, steps) }).then(
        () => false,
        () => true,
      )
      await deployMigrations(database)
      expect(await readMigrationStatus(database.sql)).toMatchObject({ pending: [], failed: [], unknown: [] })
      expect(await createTenant(database, `Tenant ${steps}`)).toMatchObject({ name: `Tenant ${steps}` })
      await database.sql.runScript('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    }
    expect(steps).toBeGreaterThan(transactionalSteps + 30)
  })

  it('or is running lets gateways write to a table whose indexes it creates', async () => {
    await deployMigrations(database)
    const migration = '20261122125100_indexes_for_lists'
    await database.sql.runScript(`DELETE FROM _prisma_migrations WHERE migration_name = '${migration}'`)
    const { id: tenantAppId } = await createTenant(database, 'Writer')
    const write = (id: string, by: Pick<Database, 'prisma'>['prisma'] = database.prisma) =>
      by.user.create({ data: { tenantAppId, id, name: 'x', email: 'x@example.com' } })
    let deployed: Promise<string[]> | undefined
    await database.prisma.$transaction(
      async (transaction) => {
        // An index is created when the transactions that may have written to its table have ended.
        await write('usr_1', transaction as never)
        deployed = deployMigrations(database)
        const waits = async () =>
          (
            await database.prisma.$queryRaw<unknown[]>`
            SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INDEX CONCURRENTLY%'`
          ).length
        await expect.poll(waits, { timeout: 30_000 }).toBe(1)
        await write('usr_2')
      },
      { timeout: 60_000 },
    )
    expect(await deployed).toEqual([migration])
  })

  it('or fails, changes nothing and names the migration and the cause; the next one applies it', async () => {
    await deployMigrations(database)
    const migration = '20261121153205_keep_idempotent_answers'
    await database.sql.runScript(`DELETE FROM _prisma_migrations WHERE migration_name = '${migration}'`)
    for (let run = 0; run < 2; run += 1) {
      await expect(deployMigrations(database)).rejects.toMatchObject({
        name: 'OperatorError',
        message:
          `The migration ${migration} failed: relation "idempotent_answer" already exists\n` +
          'It changed nothing. When the cause is removed, run it again: npm run fusion -- migrate deploy',
      })
    }
    await database.sql.runScript('DROP TABLE idempotent_answer')
    expect(await deployMigrations(database)).toEqual([migration])
    const rows = await database.prisma.$queryRaw`
      SELECT split_part(logs, E'\n', 1) AS logs, rolled_back_at IS NOT NULL AS "isRolledBack", finished_at > started_at AS "isFinished",
        applied_steps_count AS steps
      FROM _prisma_migrations WHERE migration_name = ${migration} ORDER BY started_at`
    const failed = {
      logs: `The migration ${migration} failed: relation "idempotent_answer" already exists`,
      isRolledBack: true,
      isFinished: null,
      steps: 0,
    }
    expect(rows).toEqual([failed, failed, { logs: null, isRolledBack: false, isFinished: true, steps: 1 }])
  })
})
