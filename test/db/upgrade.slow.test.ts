import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Job } from '@fusion-gateway/database'
import type { Services } from '@fusion-gateway/gateway-kit'
import { deployMigrations, readMigrationStatus } from '@fusion-gateway/migrate'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startWorker } from '../../src/domain/job/worker/worker.ts'
import { createServices } from '../../src/domain/services.ts'
import { leaseLost } from '../../src/server/start-work.ts'
import { createDatabaseFrom, type TestDatabase } from '../support/database.ts'
import { settings } from '../support/settings.ts'

// A dump of version 0.1.0 with jobs in every state of two tenants. That version ran jobs with a queue library.
const dump = readFileSync(path.join(import.meta.dirname, '../fixtures/release-0.1.0.sql'), 'utf8')

let database: TestDatabase
let services: Services

beforeAll(async () => {
  database = await createDatabaseFrom(dump)
  services = createServices(database, settings)
  // The due times of the dump have passed, except for those in 2099, and its leases are still valid.
  await run(`UPDATE job SET run_at = now() - interval '1 minute' WHERE run_at < '2090-01-01'`)
  await run(`UPDATE job SET lease_expires_at = now() + interval '1 hour' WHERE status = 'RUNNING'`)
})
afterAll(async () => {
  await services.events.close()
  await database.close()
})

const run = (sql: string) => database.prisma.$executeRawUnsafe(sql)

// Columns that a migration adds are null, and left out.
async function rowsOf(table: string): Promise<string[]> {
  const rows = await database.prisma.$queryRawUnsafe<{ row: string }[]>(
    `SELECT json_strip_nulls(row_to_json(t))::text AS row FROM ${table} t ORDER BY 1`,
  )
  return rows.map(({ row }) => row)
}

const tables = ['tenant_app', 'api_key', '"user"', 'job', 'idempotent_answer']
const readAll = async () => Promise.all(tables.map(rowsOf))

const jobs = (where: object = {}) => database.prisma.job.findMany({ where, orderBy: { id: 'asc' } })

it('the migrations keep every row and remove the schema of the queue library', async () => {
  const before = await readAll()
  expect(before.every((rows) => rows.length > 0)).toBe(true)
  expect(await deployMigrations(database)).toEqual([
    '20261122000000_jobs_without_queue',
    '20261122122442_access_tokens',
    '20261122125000_accounts_profiles_and_searches',
    '20261122125100_indexes_for_lists',
    '20261123201105_creators_and_limits_of_keys',
    '20261123230000_event_log',
    '20261123234000_webhooks',
    '20261123235000_erasure',
    '20261124082422_usage',
    '20261124224500_late_writers',
    '20261125020000_rarer_announcements',
    '20261125020100_smaller_index_of_events',
    '20261125120000_paused_webhooks',
    '20261125230000_positions_in_the_event_log',
    '20261126000000_folded_searches',
    '20261126000100_indexes_of_folded_searches',
    '20261126120000_functions_of_nodes',
    '20261126130000_running_transactions',
    '20261126221000_actors_with_spaces',
    '20261127144000_complete_events',
    '20261127180000_suspended_tenants',
    '20261127190000_truncated_rows',
    '20261127203000_lost_writes',
    '20261128193000_events_of_emails',
    '20261128235000_other_databases',
    '20261129001000_names_by_type',
    '20261129030000_events_by_time',
    '20261130020000_announced_changes',
    '20261130020000_external_ids',
    '20261130020100_indexes_of_external_ids',
    '20261130024500_history',
    '20261130120000_contract_of_0_1_0',
  ])
  expect(await readAll()).toEqual(before)
  const [{ queue } = {}] = await database.prisma.$queryRaw<{ queue?: string | null }[]>`
    SELECT to_regnamespace('pgboss')::text AS queue`
  expect(queue).toBeNull()
  const { pending, failed, unknown } = await readMigrationStatus(database.sql)
  expect([...pending, ...failed, ...unknown]).toEqual([])
})

it('every job continues from its state', async () => {
  const [held, lost] = await jobs({ status: 'RUNNING' })
  expect(held?.tenantAppId).not.toBe(lost?.tenantAppId)
  // An external worker completes the job that it holds. The worker of the other job has stopped.
  const { tenantAppId, id, leaseToken } = held as Job
  const completed = await services.jobs.complete({ tenantAppId, id, leaseToken: leaseToken ?? '' }, { by: 'holder' })
  expect(completed).toMatchObject({ status: 'SUCCEEDED', result: { by: 'holder' } })
  await run(`UPDATE job SET lease_expires_at = now() - interval '1 second' WHERE status = 'RUNNING'`)
  expect(await services.jobs.failExpired(leaseLost)).toBe(1)
  expect(await jobs({ id: lost?.id })).toMatchObject([{ status: 'PENDING', attempts: 1 }])
  await run(`UPDATE job SET run_at = now() - interval '1 minute' WHERE id = '${lost?.id}'`)

  const due = await jobs({ status: 'PENDING', jobType: 'greet', runAt: { lt: new Date() } })
  const waiting = await jobs({ status: 'PENDING', id: { notIn: due.map(({ id }) => id) } })
  const finished = await jobs({ status: { in: ['SUCCEEDED', 'CANCELLED', 'FAILED'] } })
  const payloads = due.map(({ payload }) => (payload as { n: number }).n).toSorted()
  expect(payloads).toEqual([1, 1, 3, 4, 4, 5, 5])
  // The job for 2099 of each tenant, and an imported job, which no worker runs.
  expect(waiting.map(({ runAt }) => runAt?.getUTCFullYear())).toEqual([2099, 2099, undefined])

  const ran: number[] = []
  const { promise: allRan, resolve } = Promise.withResolvers<void>()
  function greet({ n }: { n: number }) {
    ran.push(n)
    if (ran.length === due.length) resolve()
    return { ok: true }
  }
  const worker = startWorker({
    jobs: services.jobs,
    events: services.events,
    concurrency: 3,
    leaseSeconds: 30,
    log: { error: () => undefined, warn: () => undefined },
    handlers: new Map([['greet', greet]]),
  })
  await allRan
  await worker.stop(5_000)
  expect(ran.toSorted()).toEqual(payloads)
  for (const { id, attempts } of due) {
    expect(await jobs({ id })).toMatchObject([{ status: 'SUCCEEDED', attempts: attempts + 1, result: { ok: true } }])
  }
  expect(await jobs({ id: { in: waiting.map(({ id }) => id) } })).toEqual(waiting)
  expect(await jobs({ id: { in: finished.map(({ id }) => id) } })).toEqual(finished)
})
