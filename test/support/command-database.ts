import { rmSync } from 'node:fs'
import { createDataDir } from './data-dir.ts'
import { createTestDatabase } from './database.ts'
import { hasServer } from './postgresql.ts'

/** A migrated, empty database that commands open. */
export interface CommandDatabase {
  /** The environment variables with its location. */
  readonly env: Record<string, string>
  /** The same for the role that owns the tables: on a distributed database, only it may run `migrate deploy`. */
  readonly ownerEnv: Record<string, string>
  remove(): Promise<void>
}

/** Creates a database for commands: on the PostgreSQL server if the suite runs on one, otherwise in a data folder. */
export async function createCommandDatabase(): Promise<CommandDatabase> {
  if (hasServer) {
    const { url = '', ownerUrl = '', close } = await createTestDatabase()
    return { env: { DATABASE_URL: url }, ownerEnv: { DATABASE_URL: ownerUrl }, remove: close }
  }
  const folder = createDataDir()
  const env = { DATA_DIR: folder }
  return { env, ownerEnv: env, remove: async () => rmSync(folder, { recursive: true }) }
}
