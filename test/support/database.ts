import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inject } from 'vitest'
import type { StatementObserver } from '../../src/db/adapter.ts'
import { createDatabase, type Database } from '../../src/db/database.ts'
import { openEmbedded } from '../../src/db/embedded/embedded.ts'
import { openPostgres } from '../../src/db/postgres/postgres.ts'
import { databaseUrl, runAsAdmin } from './postgresql.ts'

/** A migrated, empty database for one test, on PGlite or PostgreSQL. */
export interface TestDatabase extends Database {
  /** The URL of the database; undefined on PGlite, which only this process can open. */
  readonly url: string | undefined
}

/** Clones the template database. Closing the database removes it. */
export async function createTestDatabase(
  observe: StatementObserver = () => undefined,
  onBatch: (size: number) => void = () => undefined,
): Promise<TestDatabase> {
  const template = inject('template')
  if (template.kind === 'embedded') {
    const dump = new Blob([readFileSync(template.dumpFile)])
    return { ...(await createDatabase(await openEmbedded('memory', dump), { observe, onBatch })), url: undefined }
  }
  const name = `fusion_test_${randomUUID().replaceAll('-', '')}`
  await runAsAdmin(`CREATE DATABASE ${name} TEMPLATE ${template.name}`)
  await runAsAdmin(`ALTER DATABASE ${name} SET timezone TO 'Asia/Kolkata'`)
  await runAsAdmin(`ALTER DATABASE ${name} SET datestyle TO 'German, DMY'`)
  const url = databaseUrl(name)
  const database = await createDatabase(openPostgres(url), { observe, onBatch })
  return {
    ...database,
    url,
    async close() {
      await database.close()
      await runAsAdmin(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}
