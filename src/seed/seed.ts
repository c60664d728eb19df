import { hash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../db/database.ts'
import { insertRows } from '../db/insert.ts'
import { type IdScheme, madeUpFields, makeUpPeople, type PeopleOptions } from './people.ts'
import { createRandom } from './random.ts'

export interface SeedOptions {
  readonly tenantAppId: string
  readonly users: number
  /** The same seed makes the same rows. */
  readonly seed: number
  /** Told after each batch how many users are written in all. */
  readonly onProgress?: (users: number) => void
}

const batchSize = 1_000
const writers = 3

/**
 * Fills a tenant with made-up users, each with 3 accounts, their profiles and 2 emails a profile. Rows that are there
 * already are left alone, so running it again with the same seed changes nothing.
 *
 * @returns how many rows were written
 */
export async function seedTenant(database: Database, options: SeedOptions): Promise<number> {
  const { tenantAppId, users, seed, onProgress = () => undefined } = options
  const random = createRandom(seed)
  const people: PeopleOptions = { tenantAppId, random, ids: seededIds(seed), accountsPerUser: 3, emailsPerProfile: 2 }
  let written = 0
  let done = 0
  let next = 0
  // Made up in order, so that they are the same each time; written side by side, since one connection uses one core.
  async function writeBatches(): Promise<void> {
    while (next < users) {
      const from = next
      const count = Math.min(batchSize, users - from)
      next += count
      const rows = await writePeople(database, people, from, count)
      written += rows
      done += count
      onProgress(done)
    }
  }
  await Promise.all(Array.from({ length: writers }, writeBatches))
  return written
}

/** Makes up people and inserts them: a statement a model. */
export async function writePeople(
  { sql, model }: Database,
  people: PeopleOptions,
  from: number,
  count: number,
): Promise<number> {
  const rows = makeUpPeople(people, from, count)
  let written = 0
  for (const [name, fields] of Object.entries(madeUpFields)) {
    written += await insertRows(sql, model, name, { fields, rows: rows[name as keyof typeof rows] })
  }
  return written
}

/** UUIDv7 ids of our usual form, made of the seed and the row's number alone. */
function seededIds(seed: number): IdScheme {
  const id = (prefix: string, user: number, ...numbers: number[]) => {
    const random = hash('sha256', [prefix, seed, user, ...numbers].join(), 'buffer')
    return `${prefix}_${uuidv7({ msecs: Date.UTC(2026, 0) + user * 1_000, random })}`
  }
  return {
    user: (user) => id('usr', user),
    account: (user, account) => id('acc', user, account),
    profile: (user, account) => id('prf', user, account),
    email: (user, account, email) => id('eml', user, account, email),
  }
}
