import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { deployMigrations, readMigrationStatus } from '@fusion-gateway/migrate'
import { expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { createDataDir, createEmptyDir } from '../support/data-dir.ts'

/** A migration that is easily undone. */
const undone = '20261123201105_creators_and_limits_of_keys'
const undo = 'ALTER TABLE api_key DROP COLUMN creator_id, DROP COLUMN points_per_minute'

it('an embedded database is copied before migrations change it, once, and the copy opens as it was', async () => {
  const dataDir = createDataDir()
  const database = await openDatabase({ kind: 'embedded', dataDir })
  await createTenant(database, 'Acme')
  await database.sql.runScript(`${undo}; DELETE FROM _prisma_migrations WHERE migration_name = '${undone}'`)
  writeFileSync(path.join(dataDir, 'notes'), 'of the operator')
  mkdirSync(path.join(dataDir, 'before-another'))
  const copies: string[] = []
  expect(await deployMigrations(database, { onCopy: (folder) => void copies.push(folder) })).toEqual([undone])
  expect(copies).toEqual([path.join(dataDir, `before-${undone}`)])
  expect(readdirSync(copies[0] ?? '').toSorted()).toEqual(['notes', 'pgdata'])
  expect(await deployMigrations(database, { onCopy: (folder) => void copies.push(folder) })).toEqual([])
  expect(copies).toHaveLength(1)
  await database.close()

  const former = path.join(dataDir, 'former')
  renameSync(copies[0] ?? '', former)
  const copy = await openDatabase({ kind: 'embedded', dataDir: former })
  expect((await readMigrationStatus(copy.sql)).pending).toEqual([undone])
  expect(await copy.prisma.tenantApp.count()).toBe(1)
  await copy.close()
  rmSync(dataDir, { recursive: true })
})

it('a new embedded database is not copied', async () => {
  const dataDir = createEmptyDir()
  const database = await openDatabase({ kind: 'embedded', dataDir })
  await deployMigrations(database, {
    onCopy: (folder) => {
      throw new Error(folder)
    },
  })
  expect(existsSync(path.join(dataDir, 'pgdata'))).toBe(true)
  await database.close()
  rmSync(dataDir, { recursive: true })
})
