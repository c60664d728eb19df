import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generateApiKey, hashApiKey } from '../../engine/auth/api-keys.ts'
import type { Database } from '../../engine/db/database.ts'
import { execute, statement } from '../../engine/db/statement.ts'
import { createKey } from '../credential/key.service.ts'
import { domain } from '../resources.ts'
import { createTenant } from '../tenant/tenant.service.ts'
import type { IdScheme } from './person.ts'
import { createRandom } from './person.ts'
import { writePeople } from './seed.ts'

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

/**
 * Writes the events of the demo tenant again, in the order and at the times of its rows. The triggers wrote them for
 * the moment in which the rows were inserted.
 */
async function dateDemoEvents({ sql }: Database, tenantAppId: string): Promise<void> {
  await execute(sql, replaceEvents, [tenantAppId])
}

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
