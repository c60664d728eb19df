import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../src/engine/db/database.ts'
import { readMigrationStatus } from '../../src/engine/db/migrations/migrations.ts'
import { startTestApp } from '../support/app.ts'
import { createEmptyDir } from '../support/data-dir.ts'
import { readBlocks } from '../support/docs.ts'
import { createOneOfEach } from '../support/factories.ts'
import { createDatabaseOfOwner, dropDatabase, hasServer, ownerUrl } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'

const tables = [
  'tenant_app',
  'api_key',
  'signing_key',
  '"user"',
  'account',
  'profile',
  'email_record',
  'job',
  'idempotent_answer',
]

async function rowsOf({ prisma }: Pick<Database, 'prisma'>): Promise<unknown> {
  const read = (table: string) => prisma.$queryRawUnsafe(`SELECT to_json(t)::text AS row FROM ${table} t ORDER BY 1`)
  return Promise.all(tables.map(read))
}

describe.skipIf(!hasServer)('a dump of PostgreSQL', () => {
  it('is made and restored by the commands of docs/operating.md, with every row', async () => {
    const app = await startTestApp()
    const tenant = await app.createTenant()
    await createOneOfEach(app, tenant)
    await app.graphql(tenant, 'mutation { createAccessToken(input: {}) { expiresAt } }')
    const name = `fusion_restored_${process.pid}`
    await createDatabaseOfOwner(name)
    const folder = createEmptyDir()
    const [block] = readBlocks('docs/operating.md').filter(({ code }) => code.includes('pg_restore'))
    const env = { ...process.env, DATABASE_URL: app.database.ownerUrl, RESTORED_DATABASE_URL: ownerUrl(name) }
    await promisify(execFile)('sh', ['-ec', block?.code ?? 'false'], { cwd: path.resolve(folder), env })
    const restored = await openDatabase(locationOf(ownerUrl(name)))
    expect(await rowsOf(restored)).toEqual(await rowsOf(app.database))
    expect(await readMigrationStatus(restored.sql)).toMatchObject({ pending: [], failed: [], unknown: [] })
    await restored.close()
    await app.close()
    await dropDatabase(name)
    rmSync(folder, { recursive: true })
  })
})
