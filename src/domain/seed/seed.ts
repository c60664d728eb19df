import { hash } from 'node:crypto'
import type { Database } from '../../engine/db/database.ts'
import { formatUuid } from '../../engine/db/ids.ts'
import { insertRows } from '../../engine/db/write/insert.ts'
import { domain } from '../resources.ts'
import { createPerson, type IdScheme, type PersonOptions } from './person.ts'

export interface SeedOptions {
  readonly tenantAppId: string
  readonly users: number
  /** The same seed creates the same rows. */
  readonly seed: number
  /** Called after each batch with the number of users written so far. */
  readonly onProgress?: (users: number) => void
}

/** A person was created a second after the one before. */
const createdAt = (number: number) => new Date(Date.UTC(2026, 0) + number * 1_000)

const batchSize = 1_000
const writers = 3

/**
 * Fills a tenant with generated users, each with accounts, profiles and emails. Rows that exist are skipped, so running
 * it again with the same seed changes nothing.
 *
 * @returns the number of rows that were written
 */
export async function seedTenant(database: Database, options: SeedOptions): Promise<number> {
  const { tenantAppId, users, seed, onProgress = () => undefined } = options
  const people: PersonOptions = { tenantAppId, seed, idScheme: uuidScheme(seed), createdAt }
  let written = 0
  let done = 0
  let next = 0
  // Several writers, because one connection uses one core of the server.
  async function writeBatches(): Promise<void> {
    while (next < users) {
      const first = next
      const count = Math.min(batchSize, users - first)
      next += count
      const rows = await writePeople(database, people, first, count)
      written += rows
      done += count
      onProgress(done)
    }
  }
  await Promise.all(Array.from({ length: writers }, writeBatches))
  return written
}

/** Writes the rows of people: one statement per resource. */
export async function writePeople(
  { sql }: Database,
  options: PersonOptions,
  first: number,
  count: number,
): Promise<number> {
  const people = Array.from({ length: count }, (_, index) => createPerson(options, first + index))
  let written = 0
  for (const { seed } of domain) {
    const rows = people.flatMap((person) => seed?.rowsOf?.(person) ?? [])
    if (seed) written += await insertRows(sql, seed.model, rows)
  }
  return written
}

/** UUIDv7 ids that follow from the seed and the numbers. */
function uuidScheme(seed: number): IdScheme {
  return (prefix, ...numbers) => {
    const hex = hash('sha256', [prefix, seed, ...numbers].join())
    const variant = 8 | (Number.parseInt(hex.slice(4, 5), 16) & 3)
    const end = `${variant.toString(16)}${hex.slice(5, 8)}-${hex.slice(8, 20)}`
    return prefix + formatUuid(createdAt(numbers[0] ?? 0).getTime(), Number.parseInt(hex.slice(1, 4), 16), end)
  }
}
