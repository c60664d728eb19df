import type { DatabaseLocation, PoolSettings } from '@fusion-gateway/sql'
import { readConfig } from '../../src/config.ts'

/** The settings of a process without environment variables. */
export const settings = readConfig({})

/** The location of a database on a PostgreSQL server, with the pool of a process without further variables. */
export function locationOf(url: string, pool: Partial<PoolSettings> = {}) {
  const location = readConfig({ DATABASE_URL: url }).database
  if (location.kind !== 'postgresql') throw new Error('DATABASE_URL is the location of a PostgreSQL server')
  return { ...location, pool: { ...location.pool, ...pool } } satisfies DatabaseLocation
}
