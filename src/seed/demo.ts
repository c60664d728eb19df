import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generateApiKey, hashApiKey } from '../auth/api-key.ts'
import { createKey } from '../auth/key.service.ts'
import type { Database } from '../db/database.ts'
import { Prisma } from '../db/generated/prisma/client.ts'
import { createTenant } from '../tenant/tenant.service.ts'
import type { IdScheme } from './people.ts'
import { createRandom } from './random.ts'
import { writePeople } from './seed.ts'

const demoUsers = 25

/** Ids that a person can type. */
const demoIds: IdScheme = {
  user: (user) => `usr_demo_${user}`,
  account: (user, account) => `acc_demo_${user}_${account}`,
  profile: (user, account) => `prf_demo_${user}_${account}`,
  email: (user, account, email) => `eml_demo_${user}_${account}_${email}`,
}

/**
 * The demo tenant's key. On an empty database the tenant is made with it. A key is not stored in the database, so the
 * data folder keeps this one, in a file that only its owner can read, from before the tenant is made: a start that was
 * interrupted goes on from there.
 *
 * @param dataDir the embedded database's folder, or `memory`
 * @returns undefined when this is not a demo database
 */
export async function openDemo(database: Database, dataDir: string): Promise<string | undefined> {
  const file = dataDir === 'memory' ? undefined : path.join(dataDir, 'demo-key')
  const kept = file && readIfThere(file)
  const { prisma } = database
  if (kept !== undefined && (await prisma.apiKey.findFirst({ where: { hash: hashApiKey(kept) } }))) return kept
  if (kept === undefined && (await prisma.tenantApp.count()) > 0) return undefined
  const key = kept ?? generateApiKey()
  if (file) writeFileSync(file, `${key}\n`, { mode: 0o600 })
  await makeDemoTenant(database, key)
  return key
}

/** Whatever of it is there already stays; the key comes last. */
async function makeDemoTenant(database: Database, key: string): Promise<void> {
  const { prisma } = database
  const name = 'Demo'
  const found = await prisma.tenantApp.findFirst({ where: { name } })
  const { id: tenantAppId } = found ?? (await createTenant(database, name))
  const people = { tenantAppId, random: createRandom(1), ids: demoIds, accountsPerUser: 3, emailsPerProfile: 2 }
  await writePeople(database, people, 1, demoUsers)
  await prisma.job.createMany({ data: demoJobs.map((job) => ({ ...job, tenantAppId })), skipDuplicates: true })
  await createKey(database, { tenantAppId, name: 'demo', key })
}

const payload = { url: 'https://example.com/feed.xml' }

const demoJobs: Omit<Prisma.JobCreateManyInput, 'tenantAppId'>[] = [
  {
    id: 'job_demo_1',
    status: 'SUCCEEDED',
    jobType: 'fetch_content',
    payload,
    result: { contentIds: ['content_1', 'content_2'], contentGroupIds: ['group_1'] },
    attempts: 1,
  },
  { id: 'job_demo_2', status: 'PENDING', jobType: 'fetch_content', payload, result: Prisma.DbNull, attempts: 0 },
  { id: 'job_demo_3', status: 'FAILED', jobType: 'fetch_content', payload, result: Prisma.DbNull, attempts: 3 },
]

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}
