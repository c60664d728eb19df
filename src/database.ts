import { createDatabase, type Database, type DatabaseOptions } from '@fusion-gateway/database'
import { type DatabaseLocation, openPostgres, type PostgresObservers } from '@fusion-gateway/sql'

export interface OpenOptions extends DatabaseOptions, PostgresObservers {
  /** Whether a new embedded database may be a copy of an image with all migrations. */
  readonly usesImage?: boolean
}

/** Opens the database at a location. Neither migrates it nor sends it anything yet. */
export async function openDatabase(location: DatabaseLocation, options: OpenOptions = {}): Promise<Database> {
  if (location.kind === 'postgresql') {
    return createDatabase(openPostgres(location.url, { loadNodes, ...options, ...location }), options)
  }
  const { openEmbedded } = await import('@fusion-gateway/embedded')
  return createDatabase(await openEmbedded(location.dataDir, options), options)
}

// PGlite, and what knows Citus, are loaded only where they are used.
async function loadNodes() {
  const { followNodes } = await import('@fusion-gateway/citus')
  return followNodes
}
