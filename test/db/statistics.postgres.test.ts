import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Database } from '@fusion-gateway/database'
import { deployMigrations } from '@fusion-gateway/migrate'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { fusion } from '../support/cli.ts'
import { createDatabaseOfOwner, dropDatabase, hasServer, ownerUrl } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'

const migration = '20261126000100_indexes_of_folded_searches'

describe.skipIf(!hasServer)('the statistics of the texts that are searched exist', () => {
  const name = `fusion_statistics_${randomUUID().slice(0, 8)}`
  const file = path.join(tmpdir(), `${name}.ndjson`)
  let env: Record<string, string>
  let database: Database
  beforeAll(async () => {
    await createDatabaseOfOwner(name)
    env = { DATABASE_URL: ownerUrl(name) }
    database = await openDatabase(locationOf(ownerUrl(name)))
    await deployMigrations(database)
  })
  afterAll(async () => {
    await database.close()
    await dropDatabase(name)
    rmSync(file, { force: true })
  })

  async function indexesWithStatistics(): Promise<string[]> {
    const rows = await database.prisma.$queryRaw<{ name: string }[]>`
      SELECT DISTINCT tablename AS name FROM pg_stats WHERE tablename LIKE '%folded_search_idx' ORDER BY 1`
    return rows.map((row) => row.name)
  }

  it('after an import, of the tables that have rows', async () => {
    const times = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }
    const users = Array.from({ length: 40 }, (_, index) => ({
      id: `u${index}`,
      name: `Ada ${index}`,
      email: `e${index}@example.com`,
      accounts: [],
      ...times,
    }))
    writeFileSync(file, JSON.stringify({ users }))
    await fusion(['tenants', 'create', 'Acme'], env)
    expect(await indexesWithStatistics()).toEqual([])
    expect(await fusion(['import', '--tenant', 'Acme', file], env)).toMatchObject({ code: 0, stderr: '' })
    expect(await indexesWithStatistics()).toEqual(['user_folded_search_idx'])
  })

  it('after migrate deploy has created an index again', async () => {
    await database.sql.runScript(`DELETE FROM _prisma_migrations WHERE migration_name = '${migration}'`)
    await database.sql.runScript('DROP INDEX user_folded_search_idx')
    expect(await indexesWithStatistics()).toEqual([])
    expect(await fusion(['migrate', 'deploy'], env)).toMatchObject({ code: 0 })
    expect(await indexesWithStatistics()).toEqual(['user_folded_search_idx'])
  })

  it('after a seed', async () => {
    expect(await fusion(['seed', '--tenant', 'Acme', '--users', '40'], env)).toMatchObject({ code: 0 })
    expect(await indexesWithStatistics()).toEqual(
      expect.arrayContaining(['profile_folded_search_idx', 'user_folded_search_idx']),
    )
  })
})
