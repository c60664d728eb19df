import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inject } from 'vitest'
import { createDatabase, type Database } from '../../src/db/database.ts'
import { openEmbedded } from '../../src/db/embedded.ts'
import type { StatementObserver } from '../../src/db/observed-adapter.ts'
import { openPostgresql } from '../../src/db/postgresql.ts'
import { databaseUrl, runAsAdmin } from './postgresql.ts'

/** A migrated, empty database of a test's own, on PGlite or PostgreSQL, whichever the run is for. */
export interface TestDatabase extends Database {
  /** The server's URL; undefined on PGlite, which only this process can open. */
  readonly url: string | undefined
}

/** Clones the template. Closing the database takes it away. */
export async function createTestDatabase(
  observe: StatementObserver = () => undefined,
  onBatch: (size: number) => void = () => undefined,
): Promise<TestDatabase> {
  const template = inject('template')
  if (template.kind === 'embedded') {
    const dump = new Blob([readFileSync(template.dumpFile)])
    return { ...(await createDatabase(await openEmbedded('memory', { observe, dump }), { onBatch })), url: undefined }
  }
  const name = `fusion_test_${randomUUID().replaceAll('-', '')}`
  await runAsAdmin(`CREATE DATABASE ${name} TEMPLATE ${template.name}`)
  await runAsAdmin(`ALTER DATABASE ${name} SET timezone TO 'Asia/Kolkata'`)
  await runAsAdmin(`ALTER DATABASE ${name} SET datestyle TO 'German, DMY'`)
  const url = databaseUrl(name)
  const database = await createDatabase(openPostgresql(url, { observe, onIdleError: () => undefined }), { onBatch })
  return {
    ...database,
    url,
    async close() {
      await database.close()
      await runAsAdmin(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}
