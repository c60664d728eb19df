import { randomUUID } from 'node:crypto'
import { createDatabase, type Database, type DatabaseOptions } from '@fusion-gateway/database'
import { createEmbeddedDriver, createPglite } from '@fusion-gateway/embedded'
import type { StatementObserver } from '@fusion-gateway/sql'
import { openPostgres } from '@fusion-gateway/sql'
import { inject } from 'vitest'
import {
  createDatabaseOfOwner,
  databaseUrl,
  dropDatabase,
  hasServer,
  isDistributed,
  ownerUrl,
  run,
  runAsAdmin,
} from './postgresql.ts'
import { takePglite } from './recycled-pglite.ts'
import { locationOf } from './settings.ts'

/** A migrated, empty database for one test, on PGlite or PostgreSQL. */
export interface TestDatabase extends Database {
  /** The URL of the database; undefined on PGlite, which only this process can open. */
  readonly url: string | undefined
  /** The same for the role that owns the database. The other one may only read and write rows. */
  readonly ownerUrl: string | undefined
  /** Runs a script that changes more than rows, as the role that owns the database. */
  runAsOwner(script: string): Promise<void>
}

/** Clones the template database. Closing the database removes it. */
export async function createTestDatabase(
  observe: StatementObserver = () => undefined,
  onBatch: (size: number) => void = () => undefined,
): Promise<TestDatabase> {
  const { postgresql } = inject('template')
  if (postgresql === undefined) {
    const { pglite, giveBack } = await takePglite()
    const driver = { ...createEmbeddedDriver(pglite), close: giveBack }
    return embedded(createDatabase(driver, { observe, onBatch }))
  }
  const name = await createOnServer(`TEMPLATE ${postgresql}`)
  return openOnServer(name, { observe, onBatch })
}

/**
 * Runs work that writes many rows with sessions of its own, as a command does. PostgreSQL keeps the plans of a session.
 * Those that it made for foreign keys while a partition was empty are slow when the partition is filled
 * (docs/decisions/0016-partitions.md).
 */
export async function withNewSessions<Result>(
  database: TestDatabase,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  if (database.url === undefined) return work(database)
  const other = createDatabase(openPostgres(database.url, locationOf(database.url, patientPool)))
  try {
    return await work(other)
  } finally {
    await other.close()
  }
}

/**
 * Creates a database by running a script, such as a dump, and opens it as its owner. Closing the database removes it.
 */
export async function createDatabaseFrom(script: string): Promise<TestDatabase> {
  if (!hasServer) {
    const pglite = await createPglite({})
    await pglite.exec(script)
    // A dump leaves no schema on the search path.
    await pglite.exec(`RESET ALL; SET TIME ZONE 'UTC'`)
    return embedded(createDatabase(createEmbeddedDriver(pglite)))
  }
  const name = await createOnServer()
  await run(ownerUrl(name), script)
  return openOnServer(name, {}, ownerUrl(name))
}

/** The database of this process, which has one role. */
function embedded(database: Database): TestDatabase {
  return {
    ...database,
    url: undefined,
    ownerUrl: undefined,
    runAsOwner: (script) => database.sql.runScript(script),
  }
}

/** A busy machine may take longer than a gateway would wait. */
const patientPool = { statementMilliseconds: 30_000 }

async function createOnServer(options = ''): Promise<string> {
  const name = `fusion_test_${randomUUID().replaceAll('-', '')}`
  await createDatabaseOfOwner(name, options)
  // Citus writes literals for its nodes as the session does that sends them, and tests have sessions of their own.
  if (isDistributed) return name
  await runAsAdmin(`ALTER DATABASE ${name} SET timezone TO 'Asia/Kolkata'`)
  await runAsAdmin(`ALTER DATABASE ${name} SET datestyle TO 'German, DMY'`)
  await runAsAdmin(`ALTER DATABASE ${name} SET standard_conforming_strings TO off`)
  return name
}

/** Follows the nodes of a database, if it is distributed, as processes that serve and work do. */
export async function followNodes({ sql, driver }: Database): Promise<void> {
  // A session says whether the tables are distributed.
  await sql.query({ text: 'SELECT 1' })
  if (driver.isDistributed?.()) await driver.follow?.()
}

async function openOnServer(name: string, options: DatabaseOptions, url = databaseUrl(name)): Promise<TestDatabase> {
  const location = { ...locationOf(url, patientPool), ...options }
  const database = createDatabase(openPostgres(url, location), options)
  if (isDistributed) await followNodes(database)
  return {
    ...database,
    url,
    ownerUrl: ownerUrl(name),
    runAsOwner: (script) => run(ownerUrl(name), script),
    async close() {
      await database.close()
      await dropDatabase(name)
    },
  }
}
