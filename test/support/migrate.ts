import type { Database } from '@fusion-gateway/database'
import { deployMigrations, grantsFor } from '@fusion-gateway/migrate'
import { openDatabase } from '../../src/database.ts'
import { locationOf } from './settings.ts'

/** The role in a URL. */
export function roleOf(url: string): string {
  return decodeURIComponent(new URL(url).username)
}

/** A busy machine may take longer than a gateway would wait. */
const pool = { connectMilliseconds: 30_000, acquireMilliseconds: 30_000, statementMilliseconds: 30_000 }

/**
 * Migrates a database as its owner, and lets another role read and write its rows.
 *
 * @param afterwards what the owner does besides
 */
export async function migrate(
  ownerUrl: string,
  role: string,
  afterwards: (database: Database) => Promise<unknown> = async () => undefined,
): Promise<void> {
  const database = await openDatabase(locationOf(ownerUrl, pool))
  try {
    await deployMigrations(database)
    await database.sql.runScript(await grantsFor(database.sql, role, database.driver.isDistributed?.() === true))
    await afterwards(database)
  } finally {
    await database.close()
  }
}
