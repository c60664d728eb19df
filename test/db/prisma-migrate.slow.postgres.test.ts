import { execFile } from 'node:child_process'
import { hash, randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Database } from '@fusion-gateway/database'
import { deployMigrations, readMigrationScripts, readMigrationStatus } from '@fusion-gateway/migrate'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { projectRoot } from '../support/docs.ts'
import { createDatabaseOfOwner, dropDatabase, hasServer, ownerUrl } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'

const command = createRequire(import.meta.url).resolve('prisma-cli/build/index.js')
const allMigrations = path.join(projectRoot, 'prisma/migrations')
const migration = '20261121153205_keep_idempotent_answers'

describe.skipIf(!hasServer)('prisma migrate', () => {
  let name: string
  let folder: string
  let database: Database
  beforeEach(async () => {
    name = `fusion_prisma_${randomUUID().slice(0, 8)}`
    await createDatabaseOfOwner(name)
    database = await openDatabase(locationOf(ownerUrl(name)))
    folder = mkdtempSync(path.join(tmpdir(), 'fusion-prisma-'))
    const engine = path.join(import.meta.dirname, 'prisma-engine.ts')
    writeFileSync(path.join(folder, 'engine'), `#!/bin/sh\nexec '${process.execPath}' '${engine}' "$@"\n`, {
      mode: 0o755,
    })
  })
  afterEach(async () => {
    await database.close()
    await dropDatabase(name)
    rmSync(folder, { recursive: true })
  })

  /** Runs `prisma migrate …` to its end. Returns what it has written. */
  function prismaMigrate(args: readonly string[], migrations = allMigrations): Promise<string> {
    const url = ownerUrl(name)
    const config = path.join(folder, 'prisma.config.ts')
    const schema = path.join(projectRoot, 'prisma/schema.prisma')
    writeFileSync(
      config,
      `export default ${JSON.stringify({ schema, migrations: { path: migrations }, datasource: { url } })}`,
    )
    const engine = path.join(folder, 'engine')
    const env = { ...process.env, TMPDIR: folder, DATABASE_URL: url, PRISMA_SCHEMA_ENGINE_BINARY: engine }
    return new Promise((resolve) => {
      execFile(process.execPath, [command, 'migrate', ...args, '--config', config], { env }, (_, stdout, stderr) =>
        resolve(stdout + stderr),
      )
    })
  }
  const upToDate = expect.stringContaining('Database schema is up to date!')
  const isComplete = async () => {
    const { applied: _, ...rest } = await readMigrationStatus(database.sql)
    expect(rest).toEqual({ pending: [], unknown: [], failed: [] })
    const text = 'SELECT migration_name, checksum FROM _prisma_migrations WHERE rolled_back_at IS NULL'
    const scripts = [...readMigrationScripts()].map(([name, script]) => [name, hash('sha256', script)])
    expect((await database.sql.query({ text })).sort()).toEqual(scripts)
    expect(await prismaMigrate(['status'])).toEqual(upToDate)
  }

  it('finds a database of the gateway up to date, and has nothing to apply', async () => {
    await deployMigrations(database)
    await isComplete()
    expect(await prismaMigrate(['deploy'])).toContain('No pending migrations to apply.')
  })

  it('has begun a database, and the gateway continues it', async () => {
    const names = readdirSync(allMigrations).sort()
    const some = path.join(folder, 'migrations')
    for (const one of [...names.slice(0, 9), 'migration_lock.toml'])
      cpSync(path.join(allMigrations, one), path.join(some, one), { recursive: true })
    expect(await prismaMigrate(['deploy'], some)).toContain('All migrations have been successfully applied.')
    expect(await deployMigrations(database)).toEqual(names.filter((one) => !one.endsWith('.toml')).slice(9))
    await isComplete()
  })

  it('resolves a migration that failed in the gateway, and the reverse', async () => {
    await deployMigrations(database)
    const forget = () => database.sql.runScript(`DELETE FROM _prisma_migrations WHERE migration_name = '${migration}'`)
    const fail = async () => {
      await forget()
      await expect(deployMigrations(database)).rejects.toThrow(`The migration ${migration} failed`)
      expect(await prismaMigrate(['deploy'])).toMatch(
        new RegExp(`P3009[^]*\`${migration}\` migration started at .* failed`),
      )
    }
    await fail()
    expect(await prismaMigrate(['resolve', '--applied', migration])).toContain('marked as applied')
    expect(await deployMigrations(database)).toEqual([])
    await isComplete()
    await fail()
    expect(await prismaMigrate(['resolve', '--rolled-back', migration])).toContain('marked as rolled back')
    expect(await readMigrationStatus(database.sql)).toMatchObject({ pending: [migration], failed: [] })
    expect(await prismaMigrate(['deploy'])).toContain('Error')
    expect(await readMigrationStatus(database.sql)).toMatchObject({ pending: [migration], failed: [migration] })
    await database.sql.runScript('DROP TABLE idempotent_answer')
    expect(await deployMigrations(database)).toEqual([migration])
    await isComplete()
  })
})
