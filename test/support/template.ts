import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { TestProject } from 'vitest/node'
import { openDatabase } from '../../src/db/database.ts'
import { deployMigrations } from '../../src/db/migrations/migrations.ts'
import { partitionTables } from '../../src/db/partitions/partition-tables.ts'
import { adminUrl, databaseUrl, runAsAdmin } from './postgresql.ts'

/** The templates of a run: tests copy them, which takes less time than migrating an empty database. */
export interface Template {
  /** A migrated data folder of the gateway. */
  readonly dataDir: string
  /** A dump of that folder's database, for PGlite in memory. */
  readonly dumpFile: string
  /** The name of a migrated database on the PostgreSQL server, if the suite runs on one. */
  readonly postgresql: string | undefined
}

declare module 'vitest' {
  export interface ProvidedContext {
    template: Template
  }
}

/** Creates the templates once per run. Returns a function that removes them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-test-'))
  process.env['TEST_RUN_FOLDER'] = folder
  const [embedded, postgresql] = await Promise.all([createEmbedded(folder), createOnServer()])
  project.provide('template', { ...embedded, postgresql })
  return async () => {
    rmSync(folder, { recursive: true })
    if (postgresql !== undefined) await runAsAdmin(`DROP DATABASE ${postgresql} WITH (FORCE)`)
  }
}

async function createEmbedded(folder: string): Promise<Pick<Template, 'dataDir' | 'dumpFile'>> {
  const dataDir = path.join(folder, 'data')
  const database = await openDatabase({ kind: 'embedded', dataDir })
  await deployMigrations(database)
  await database.close()
  const copy = path.join(folder, 'copy')
  cpSync(path.join(dataDir, 'pgdata'), copy, { recursive: true })
  const dumpFile = path.join(folder, 'template.tar')
  writeFileSync(dumpFile, await dump(copy))
  rmSync(copy, { recursive: true })
  return { dataDir, dumpFile }
}

/** Dumps a folder without the databases that no test connects to. They are half of the dump, which every test file loads. */
async function dump(folder: string): Promise<Buffer> {
  const pglite = await PGlite.create(folder)
  await pglite.exec('UPDATE pg_database SET datistemplate = false')
  for (const name of ['template0', 'template1']) await pglite.exec(`DROP DATABASE ${name}`)
  const blob = await pglite.dumpDataDir('none')
  await pglite.close()
  return Buffer.from(await blob.arrayBuffer())
}

async function createOnServer(): Promise<string | undefined> {
  if (adminUrl === undefined) return undefined
  const name = `fusion_template_${randomUUID().slice(0, 8)}`
  await runAsAdmin(`CREATE DATABASE ${name}`)
  // Not UTC, so that tests fail where the gateway relies on the server's time zone.
  await runAsAdmin(`ALTER DATABASE ${name} SET timezone TO 'Asia/Kolkata'`)
  // A busy machine may take longer than a gateway would wait.
  const pool = { connectMilliseconds: 30_000, acquireMilliseconds: 30_000, statementMilliseconds: 30_000 }
  const database = await openDatabase({ kind: 'postgresql', url: databaseUrl(name), pool })
  await deployMigrations(database)
  const modulus = Number(process.env['TEST_PARTITIONS'] ?? 0)
  if (modulus > 0) await partitionTables(database.driver, { modulus })
  await database.close()
  return name
}
