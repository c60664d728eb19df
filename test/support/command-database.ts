import { rmSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { type Ended, runHere } from './cli.ts'
import { createDataDir } from './data-dir.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
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

/** What a command gets besides its arguments. */
interface Given {
  readonly env?: Record<string, string>
  readonly stdin?: Readable
}

/**
 * Runs `fusion …` to its end, within this process, on the database of a test. A command opens an embedded database in
 * a data folder, which takes a second; here it gets the one that is open. On a server it connects itself.
 */
export async function fusionOn(
  database: TestDatabase,
  args: readonly string[],
  { env = {}, ...io }: Given = {},
): Promise<Ended> {
  if (database.url !== undefined) return runHere(args, { ...env, DATABASE_URL: database.url }, io)
  let open = 0
  const openDatabase = async () => {
    open += 1
    const close = async () => {
      open -= 1
    }
    return { ...database, close }
  }
  const ended = await runHere(args, env, { ...io, openDatabase })
  if (open !== 0) throw new Error(`fusion ${args[0]} has not closed the database`)
  return ended
}
