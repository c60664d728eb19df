import type { Database } from '@fusion-gateway/database'
import { deployMigrations, requireMigrations } from '@fusion-gateway/migrate'
import type { DatabaseLocation } from '@fusion-gateway/sql'
import { readConfig } from '../../config.ts'
import { type OpenOptions, openDatabase } from '../../database.ts'
import type { Io } from '../io.ts'

interface CommandOptions extends OpenOptions {
  /** How long a statement may take and wait for a connection, instead of the timeouts of requests. */
  readonly statementMilliseconds?: number
}

/** For commands that write or read much. Nobody waits for their statements, and a machine that is busy takes long. */
export const patient: CommandOptions = { statementMilliseconds: 600_000 }

export async function withDatabase<Result>(
  { env, openDatabase: open = openDatabase }: Pick<Io, 'env' | 'openDatabase'>,
  work: (database: Database) => Promise<Result>,
  { statementMilliseconds, ...options }: CommandOptions = {},
): Promise<Result> {
  const { database: location } = readConfig(env)
  const database = await open(withTimeouts(location, statementMilliseconds), options)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

function withTimeouts(location: DatabaseLocation, milliseconds: number | undefined): DatabaseLocation {
  if (milliseconds === undefined || location.kind !== 'postgresql') return location
  const timeouts = { statementMilliseconds: milliseconds, acquireMilliseconds: milliseconds }
  return { ...location, pool: { ...location.pool, ...timeouts } }
}

/**
 * Runs a command on the configured database if it has all migrations. The embedded database gets them first.
 *
 * @throws OperatorError if a PostgreSQL server lacks migrations
 */
export function withMigratedDatabase<Result>(
  io: Pick<Io, 'env' | 'stderr' | 'openDatabase'>,
  work: (database: Database) => Promise<Result>,
  options?: CommandOptions,
): Promise<Result> {
  return withDatabase(
    io,
    async (database) => {
      if (readConfig(io.env).database.kind === 'embedded')
        await deployMigrations(database, { onCopy: reportCopyTo(io) })
      await requireMigrations(database)
      return work(database)
    },
    { ...options, usesImage: true },
  )
}

/** Returns a function that says on stderr where a copy of the data folder is. */
export function reportCopyTo({ stderr }: Pick<Io, 'stderr'>) {
  return (folder: string): void => {
    stderr.write(`Copied the data folder to ${folder} before migrations change it.\n`)
  }
}
