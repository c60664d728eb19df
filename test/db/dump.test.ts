import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Database } from '@fusion-gateway/database'
import { readWriteProblems } from '@fusion-gateway/database'
import { partitionTables, readMigrationStatus } from '@fusion-gateway/migrate'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { startTestApp } from '../support/app.ts'
import { fusion, startGateway } from '../support/cli.ts'
import { createEmptyDir } from '../support/data-dir.ts'
import { readBlocks } from '../support/docs.ts'
import { createOneOfEach } from '../support/factories.ts'
import { migrate } from '../support/migrate.ts'
import { fieldsOf, operationOf } from '../support/operations.ts'
import {
  adminUrl,
  appRole,
  createDatabaseOfOwner,
  databaseUrl,
  dropDatabase,
  hasServer,
  isDistributed,
  ownerUrl,
  run,
  runAsAdmin,
  runAsAdminOn,
} from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'

const tables = [
  'tenant_app',
  'api_key',
  'signing_key',
  '"user"',
  'account',
  'profile',
  'profile_metric',
  'email_record',
  'job',
  'idempotent_answer',
]

async function rowsOf({ prisma }: Pick<Database, 'prisma'>): Promise<unknown> {
  const read = (table: string) => prisma.$queryRawUnsafe(`SELECT to_json(t)::text AS row FROM ${table} t ORDER BY 1`)
  return Promise.all(tables.map(read))
}

// A distributed database has commands of its own (test/distributed/backup).
describe.skipIf(!hasServer || isDistributed)('a dump of PostgreSQL', () => {
  it.each([
    ['whole, into an empty database', 'RESTORED_DATABASE_URL'],
    ['the rows alone, into a migrated database', 'MOVED_DATABASE_URL'],
  ])('is made and restored by the commands of docs/operating.md, with every row: %s', async (_, variable) => {
    const app = await startTestApp()
    const tenant = await app.createTenant()
    await createOneOfEach(app, tenant)
    await app.graphql(tenant, 'mutation { createAccessToken(input: {}) { expiresAt } }')
    const name = `fusion_restored_${process.pid}`
    await createDatabaseOfOwner(name)
    const ofRows = variable === 'MOVED_DATABASE_URL'
    // Rows are restored into partitions of the same names.
    const modulus = Number(process.env['TEST_PARTITIONS'] ?? 0)
    const partition = async ({ driver }: Database) => void (modulus > 0 && (await partitionTables(driver, { modulus })))
    if (ofRows) await migrate(ownerUrl(name), appRole(), partition)
    const folder = createEmptyDir()
    const [block] = readBlocks('docs/operating.md').filter(({ code }) => code.includes(variable))
    // Only a superuser can disable the triggers of foreign keys.
    const urlOf = ofRows ? adminUrl : ownerUrl
    const source = new URL(app.database.url ?? '').pathname.slice(1)
    const env = { ...process.env, DATABASE_URL: urlOf(source), [variable]: urlOf(name) }
    await promisify(execFile)('sh', ['-ec', block?.code ?? 'false'], { cwd: path.resolve(folder), env })
    const restored = await openDatabase(locationOf(ownerUrl(name)))
    expect(await rowsOf(restored)).toEqual(await rowsOf(app.database))
    expect(await readMigrationStatus(restored.sql)).toMatchObject({ pending: [], failed: [], unknown: [] })
    await restored.close()
    await app.close()
    await dropDatabase(name)
    rmSync(folder, { recursive: true })
  })

  it('is made and restored by a role that may not create the extensions, where strangers are kept out', async () => {
    const app = await startTestApp()
    await createOneOfEach(app, await app.createTenant())
    const rows = await rowsOf(app.database)
    const source = new URL(app.database.url ?? '').pathname.slice(1)
    const name = `fusion_restored_bare_${process.pid}`
    const blockWith = (text: string) => readBlocks('docs/operating.md').find(({ code }) => code.includes(text))?.code
    await dropDatabase(name)
    await runAsAdmin(`CREATE DATABASE ${name}`)
    await runAsAdminOn(name, `GRANT USAGE, CREATE ON SCHEMA public TO "${new URL(ownerUrl(name)).username}"`)
    await runAsAdminOn(name, 'CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin')
    const folder = createEmptyDir()
    const env = { ...process.env, DATABASE_URL: ownerUrl(source), RESTORED_DATABASE_URL: ownerUrl(name) }
    const script = `${blockWith('FROM PUBLIC')}\n${blockWith('RESTORED_DATABASE_URL')}`
    const { stderr } = await promisify(execFile)('sh', ['-ec', script], { cwd: folder, env })
    expect(stderr).toBe('')
    const restored = await openDatabase(locationOf(ownerUrl(name)))
    expect(await rowsOf(restored)).toEqual(rows)
    await restored.close()
    await app.close()
    await dropDatabase(name)
    rmSync(folder, { recursive: true })
  })

  it('restored without owners and privileges serves every operation after the statements of --grants', async () => {
    const app = await startTestApp()
    const tenant = await app.createTenant()
    await createOneOfEach(app, tenant)
    const source = new URL(app.database.url ?? '').pathname.slice(1)
    const name = `fusion_unprivileged_${process.pid}`
    await createDatabaseOfOwner(name)
    const folder = createEmptyDir()
    await promisify(execFile)(
      'sh',
      ['-ec', 'pg_dump -Fc -f dump "$FROM" && pg_restore --no-acl --no-owner --dbname="$TO" dump'],
      { cwd: folder, env: { ...process.env, FROM: adminUrl(source), TO: ownerUrl(name) } },
    )
    await app.close()
    const restored = await openDatabase(locationOf(databaseUrl(name)))
    expect(await readWriteProblems(restored.sql)).toContain(`the role ${appRole()} may not INSERT user`)
    const { stdout: grants } = await fusion(['migrate', 'deploy', '--grants', appRole()], {
      DATABASE_URL: ownerUrl(name),
    })
    await run(ownerUrl(name), grants)
    expect(await readWriteProblems(restored.sql)).toEqual([])
    await restored.close()

    const gateway = await startGateway({
      DATABASE_URL: databaseUrl(name),
      RATE_LIMIT: '0',
      SECRET_KEYS: randomBytes(32).toString('base64'),
    })
    const [userId, accountId, jobId] = ['usr_none', 'acc_none', 'job_none']
    for (const kind of ['Query', 'Mutation'] as const) {
      for (const field of fieldsOf(kind)) {
        const response = await fetch(`${gateway.address}/graphql`, {
          method: 'POST',
          headers: { 'x-api-key': tenant.key, 'content-type': 'application/json' },
          body: JSON.stringify(operationOf(kind.toLowerCase(), field, { userId, accountId, jobId })),
        })
        const { errors = [] } = (await response.json()) as { errors?: { extensions: { code: string } }[] }
        expect([field.name, errors.filter(({ extensions }) => /INTERNAL|UNAVAILABLE/.test(extensions.code))]).toEqual([
          field.name,
          [],
        ])
      }
    }
    expect(await gateway.stop('SIGTERM')).toMatchObject({ code: 0 })
    expect(gateway.output()).not.toMatch(/permission denied|"level":50/)
    await dropDatabase(name)
    rmSync(folder, { recursive: true })
  })
})
