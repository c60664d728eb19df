import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generateApiKey, hashApiKey } from '../../engine/auth/api-key.ts'
import type { Database } from '../../engine/db/database.ts'
import { createKey } from '../credential/key.service.ts'
import { domain } from '../domain.ts'
import { createTenant } from '../tenant/tenant.service.ts'
import { dateDemoEvents } from './demo-events.ts'
import type { IdScheme } from './person.ts'
import { createRandom } from './random.ts'
import { writePeople } from './seed.ts'

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
    if (seed) await database.insertRows(seed.model, rows)
  }
  await dateDemoEvents(database, tenantAppId)
  await createKey(database, { tenantAppId, name: 'demo', key })
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}
