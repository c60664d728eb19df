import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generateApiKey, hashApiKey } from '@fusion-gateway/auth'
import { type Database, dataModel } from '@fusion-gateway/database'
import { insertRows } from '@fusion-gateway/prisma-trees'
import { formatUuid, statement } from '@fusion-gateway/sql'
import { createKey } from '../credential/key.service.ts'
import type { Person, PersonAccount, Random } from '../resource.ts'
import { domain } from '../resources.ts'
import { createTenant } from '../tenant/tenant.service.ts'

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
 * @returns the number of rows that were written, without those of histories
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
async function writePeople({ sql }: Database, options: PersonOptions, first: number, count: number): Promise<number> {
  const people = Array.from({ length: count }, (_, index) => createPerson(options, first + index))
  let written = 0
  for (const { seed } of domain) {
    const rows = people.flatMap((person) => seed?.rowsOf?.(person) ?? [])
    const count = seed ? await insertRows(sql, dataModel(seed.model), rows) : 0
    if (seed?.model !== 'ProfileMetric') written += count
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

/** The triggers wrote the events of the demo tenant for the moment in which its rows were inserted. */
const replaceEvents = statement(`
  WITH removed AS (DELETE FROM event WHERE tenant_app_id = $1)
  INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id, status, status_before, created_at)
  SELECT $1, type, resource_id, user_id, account_id, status, status_before, at FROM (
    SELECT tenant_app_id, 'USER_CREATED' AS type, id AS resource_id, id AS user_id, NULL AS account_id,
      NULL AS status, NULL AS status_before, created_at AS at FROM "user"
    UNION ALL SELECT tenant_app_id, 'ACCOUNT_LINKED', id, user_id, id, NULL, NULL, created_at FROM account
    UNION ALL SELECT tenant_app_id, 'PROFILE_SYNCED', profile.id, user_id, account.id, NULL, NULL, synced_at
      FROM profile JOIN account USING (tenant_app_id) WHERE account.id = account_id
    UNION ALL SELECT tenant_app_id, 'JOB_CREATED', id, NULL, NULL, 'PENDING', NULL, created_at FROM job
    UNION ALL SELECT tenant_app_id, 'JOB_STARTED', id, NULL, NULL, 'RUNNING', 'PENDING', started_at FROM job
    UNION ALL SELECT tenant_app_id, 'JOB_' || status, id, NULL, NULL, status::text, 'RUNNING', finished_at FROM job
  ) AS happened WHERE tenant_app_id = $1 AND at IS NOT NULL ORDER BY at`)

const demoUsers = 25

/** Ids that are easy to type: `usr_demo_1`, `acc_demo_1_2`. */
const demoIds: IdScheme = (prefix, ...numbers) => `${prefix}demo_${numbers.join('_')}`

/**
 * Returns the key of the demo tenant. Creates the tenant if the database is empty. The database stores no keys, so the
 * data folder has this one in a file that only its owner can read. The file is written first: a start that was
 * interrupted continues from there.
 *
 * @param dataDir the folder of the embedded database, or `memory`
 * @returns undefined if this is not a demo database
 */
export async function openDemo(database: Database, dataDir: string): Promise<string | undefined> {
  const file = dataDir === 'memory' ? undefined : path.join(dataDir, 'demo-key')
  const stored = file && readIfExists(file)
  const { prisma } = database
  if (stored !== undefined && (await prisma.apiKey.findFirst({ where: { hash: hashApiKey(stored) } }))) return stored
  if (stored === undefined && (await prisma.tenantApp.count()) > 0) return undefined
  const key = stored ?? generateApiKey()
  if (file) writeFileSync(file, `${key}\n`, { mode: 0o600 })
  await createDemoTenant(database, key)
  return key
}

/** One user was created each day, at another time of the day. The last one was created a day ago. */
function timeOfUser(number: number, now: Date): Date {
  const days = demoUsers - number + 1 + createRandom(number).next() * 0.8
  return new Date(now.getTime() - Math.round(days * 86_400_000))
}

/** Skips rows that exist. Creates the key last. */
async function createDemoTenant(database: Database, key: string): Promise<void> {
  const name = 'Demo'
  const existing = await database.prisma.tenantApp.findFirst({ where: { name } })
  const { id: tenantAppId } = existing ?? (await createTenant(database, name))
  const now = new Date()
  const createdAt = (number: number) => timeOfUser(number, now)
  await writePeople(database, { tenantAppId, seed: 1, idScheme: demoIds, createdAt }, 1, demoUsers)
  for (const { seed } of domain) {
    const rows = seed?.demoRows?.(tenantAppId, now) ?? []
    if (seed) await insertRows(database.sql, dataModel(seed.model), rows)
  }
  await database.sql.execute(replaceEvents, [tenantAppId])
  await createKey(database, { tenantAppId, name: 'demo', key })
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}

/** Writes the ids of seeded rows: `idOf('usr_', 7)`, `idOf('acc_', 7, 2)`. */
type IdScheme = (prefix: string, ...numbers: readonly number[]) => string

interface PersonOptions {
  readonly tenantAppId: string
  readonly seed: number
  readonly idScheme: IdScheme
  createdAt(number: number): Date
}

const accountsPerPerson = 3

/** How long a person takes to link an account, and the gateway's client to read its profile. */
const linkMilliseconds = 97_000
const syncMilliseconds = 4_200

/** Generates a person. The same seed and number generate the same person. */
function createPerson(options: PersonOptions, number: number): Person {
  const { tenantAppId, seed, idScheme } = options
  const createdAt = options.createdAt(number)
  const randomOf = (resource: string) => createRandom(fnv1a(`${seed}/${number}/${resource}`))
  const random = randomOf('person')
  const firstName = random.pick(firstNames.split(' '))
  const lastName = random.pick(lastNames.split(' '))
  const accounts = Array.from({ length: accountsPerPerson }, (_, index): PersonAccount => {
    const platform = platforms[(number + index + 1) % platforms.length] ?? 'YOUTUBE'
    const linkedAt = new Date(createdAt.getTime() + (index + 1) * linkMilliseconds)
    return {
      number: index + 1,
      platform,
      platformAccountId: `${platform.toLowerCase()}-${idScheme('acc_', number, index + 1)}`,
      displayName: `${firstName} on ${platform.charAt(0)}${platform.slice(1).toLowerCase()}`,
      linkedAt,
      syncedAt: new Date(linkedAt.getTime() + syncMilliseconds),
    }
  })
  return {
    tenantAppId,
    number,
    firstName,
    lastName,
    fullName: `${firstName} ${lastName}`,
    handle: `${firstName}.${lastName}.${number}`.toLowerCase(),
    gender: random.pick(['FEMALE', 'MALE', 'OTHER']),
    phone: `+1555${String(random.below(10_000_000)).padStart(7, '0')}`,
    createdAt,
    accounts,
    idOf: ({ prefix }, ...numbers) => idScheme(prefix, number, ...numbers),
    randomOf,
  }
}

/** A small hash that spreads similar texts. @see https://datatracker.ietf.org/doc/draft-eastlake-fnv */
function fnv1a(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  return value >>> 0
}

const platforms = ['YOUTUBE', 'INSTAGRAM', 'TIKTOK', 'TWITCH', 'X']
const firstNames =
  'Ada Alan Anna Barbara Chen Claude Dorothy Edsger Elena Fatima Grace Hedy ' +
  'Ivan Joan Kamal Katherine Linus Maria Mei Niklaus Olga Priya Radia Tim'
const lastNames =
  'Abebe Berg Costa Diaz Eriksson Fischer Garcia Haddad Ito Jensen Kaya Lopez ' +
  'Moreau Novak Okafor Petrov Quinn Rossi Silva Tanaka Usman Vogel Weber Yilmaz'

/** mulberry32. @see https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { next, below, pick: (items) => items[below(items.length)] as (typeof items)[number] }
}
