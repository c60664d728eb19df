import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
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
 * The demo tenant's key: made with the tenant when the database is empty, read from the data folder after that.
 * A key is not stored in the database, so the folder keeps this one in a file that only its owner can read.
 *
 * @param dataDir the embedded database's folder, or `memory`
 * @returns undefined when this is not a demo database
 */
export async function openDemo(database: Database, dataDir: string): Promise<string | undefined> {
  const file = dataDir === 'memory' ? undefined : path.join(dataDir, 'demo-key')
  if ((await database.prisma.tenantApp.count()) > 0) return file && readIfThere(file)
  const key = await makeDemoTenant(database)
  if (file) writeFileSync(file, `${key}\n`, { mode: 0o600 })
  return key
}

async function makeDemoTenant(database: Database): Promise<string> {
  const { id: tenantAppId } = await createTenant(database, 'Demo')
  const random = createRandom(1)
  await writePeople(
    database,
    { tenantAppId, random, ids: demoIds, accountsPerUser: 3, emailsPerProfile: 2 },
    1,
    demoUsers,
  )
  await database.prisma.job.createMany({ data: demoJobs.map((job) => ({ ...job, tenantAppId })) })
  const { key } = await createKey(database, { tenantAppId, name: 'demo' })
  return key
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
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}
