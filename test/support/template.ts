import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { TestProject } from 'vitest/node'
import { createDatabase, openDatabase } from '../../src/db/database.ts'
import { createEmbeddedDriver } from '../../src/db/embedded/embedded.ts'
import { deployMigrations } from '../../src/db/migrations/migrations.ts'
import { adminUrl, databaseUrl, runAsAdmin } from './postgresql.ts'

/** The template of each test file's database: a dump of PGlite, or a database of the PostgreSQL server. */
export type Template = { kind: 'embedded'; dumpFile: string } | { kind: 'postgresql'; name: string }

declare module 'vitest' {
  export interface ProvidedContext {
    template: Template
  }
}

/** Creates the template once per run. Returns a function that removes it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  return adminUrl === undefined ? setupEmbedded(project) : setupPostgresql(project)
}

async function setupEmbedded(project: TestProject) {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-test-'))
  const pglite = await PGlite.create()
  const database = await createDatabase(createEmbeddedDriver(pglite))
  await deployMigrations(database)
  const dumpFile = path.join(folder, 'template.tar')
  writeFileSync(dumpFile, Buffer.from(await (await pglite.dumpDataDir('none')).arrayBuffer()))
  await database.close()
  project.provide('template', { kind: 'embedded', dumpFile })
  return async () => rmSync(folder, { recursive: true })
}

async function setupPostgresql(project: TestProject) {
  const name = `fusion_template_${randomUUID().slice(0, 8)}`
  await runAsAdmin(`CREATE DATABASE ${name}`)
  // Not UTC, so that tests fail where the gateway relies on the server's time zone.
  await runAsAdmin(`ALTER DATABASE ${name} SET timezone TO 'Asia/Kolkata'`)
  const database = await openDatabase({ kind: 'postgresql', url: databaseUrl(name) })
  await deployMigrations(database)
  await database.close()
  project.provide('template', { kind: 'postgresql', name })
  return () => runAsAdmin(`DROP DATABASE ${name} WITH (FORCE)`)
}
