import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, JobStatus } from '@fusion-gateway/database'
import { createContext, type Services } from '@fusion-gateway/gateway-kit'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createJob } from '../../src/domain/job/job.service.ts'
import { startWorker } from '../../src/domain/job/worker/worker.ts'
import { createServices } from '../../src/domain/services.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { startMaintenance } from '../../src/server/start-work.ts'
import { checkJobHistory, recordJobHistory } from '../campaign/job-history.ts'
import { startCommand } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { migrate, roleOf } from '../support/migrate.ts'
import { locationOf, settings } from '../support/settings.ts'

const handlersFile = path.resolve(import.meta.dirname, '../fixtures/handlers.ts')
const silentLog = { error: () => undefined, warn: () => undefined }

let cluster: Cluster
let database: Database
let services: Services
let tenantAppId: string

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  await migrate(cluster.ownerUrl, roleOf(cluster.url), recordJobHistory)
  database = await openDatabase(locationOf(cluster.url))
  services = createServices(database, { ...settings, backoff: { delaySeconds: 0, maxDelaySeconds: 1 } })
  tenantAppId = (await createTenant(database, 'Faults')).id
})
afterAll(async () => {
  if (!canCreateClusters) return
  await services.events.close()
  await database.close()
  await cluster.remove()
})

async function createJobs(jobType: string, count: number, payload: Record<string, unknown> = {}): Promise<void> {
  const viewer = { tenantAppId, tenantName: '', keyId: '', keyName: '', scopes: [] }
  const context = createContext(services, { viewer, log: silentLog, statements: { statements: 0 } })
  for (let from = 0; from < count; from += 50) {
    const size = Math.min(50, count - from)
    await Promise.all(Array.from({ length: size }, () => createJob(context, { jobType, payload, maxAttempts: 20 })))
  }
}

/** Polls, because the worker may be another process, and the database may be stopped for a moment. */
async function untilFinished(jobType: string): Promise<void> {
  for (;;) {
    const where = { jobType, status: { in: ['PENDING', 'RUNNING'] as JobStatus[] } }
    const left = await database.prisma.job.count({ where }).catch(() => -1)
    if (left === 0) return
    await sleep(100)
  }
}

/** Checks that each job succeeded once, by known transitions. */
async function checkHistory(jobType: string, count: number) {
  const { jobs, attempts, problems } = await checkJobHistory(database, [jobType])
  expect(problems).toEqual([])
  expect(jobs).toBe(count)
  return { attempts }
}

describe.skipIf(!canCreateClusters)('every job ends exactly once', () => {
  it('when ten workers compete for them', async () => {
    const count = Number(process.env['COMPETING_JOBS'] ?? 1_000)
    await createJobs('contended', count)
    let runs = 0
    const handlers = new Map([
      [
        'contended',
        () => {
          runs += 1
        },
      ],
    ])
    const pools = await Promise.all(
      Array.from({ length: 10 }, async () => createServices(await openDatabase(locationOf(cluster.url)), settings)),
    )
    const workers = pools.map(({ jobs, events }) =>
      startWorker({ jobs, events, handlers, log: silentLog, concurrency: 10, leaseSeconds: 30 }),
    )
    await untilFinished('contended')
    await Promise.all(workers.map((worker) => worker.stop(1_000)))
    for (const pool of pools) {
      await pool.events.close()
      await pool.database.close()
    }
    expect(await checkHistory('contended', count)).toEqual({ attempts: count })
    expect(runs).toBe(count)
  })

  it('when there are 10,000 and five workers are killed one after the other', async () => {
    const count = 10_000
    const concurrency = 20
    const env = { DATABASE_URL: cluster.url, LOG_LEVEL: 'info' }
    const args = ['work', '--handlers', handlersFile, '--concurrency', String(concurrency), '--lease', '1']
    const held = path.join(tmpdir(), `fusion-held-${process.pid}`)
    onTestFinished(() => rmSync(held, { force: true }))
    const start = () => startCommand(args, env, 'working')
    const countRunning = () => database.prisma.job.count({ where: { jobType: 'count_up', status: 'RUNNING' } })
    // They start before there are jobs: on a slow machine one would finish all jobs while another starts.
    const [survivor, ...victims] = await Promise.all([start(), start(), start(), start(), start(), start()])
    // Another process that looks for expired leases: more often than a worker does, and with shorter delays.
    const stopMaintenance = startMaintenance({
      jobs: services.jobs,
      log: silentLog,
      retentionDays: 0,
      intervalMilliseconds: 200,
    })
    await database.prisma.$executeRaw`
      INSERT INTO job (tenant_app_id, id, job_type, payload, max_attempts, run_at, updated_at)
      SELECT ${tenantAppId}, 'job_killed_' || number, 'count_up', json_build_object('until', ${held}::text), 20, now(), now()
      FROM generate_series(1, ${count}::int) AS number`
    for (const [killed, victim] of victims.entries()) {
      // Jobs do not end, so that the worker certainly holds some when it is killed: all others hold at most these.
      writeFileSync(held, '')
      while ((await countRunning()) <= concurrency * (victims.length - killed)) await sleep(5)
      // They end while it is killed.
      rmSync(held)
      await victim.stop('SIGKILL')
    }
    expect(await database.prisma.job.count({ where: { jobType: 'count_up', status: 'PENDING' } })).toBeGreaterThan(0)
    await untilFinished('count_up')
    await stopMaintenance()
    expect(await survivor.stop()).toMatchObject({ code: 0 })
    const { attempts } = await checkHistory('count_up', count)
    expect(attempts).toBeGreaterThan(count)
  })

  it.each(['fast', 'immediate'] as const)(
    'when the database is stopped (%s) and started while they run',
    async (mode) => {
      const jobType = `restarted_${mode}`
      await createJobs(jobType, 60)
      let begun = 0
      const handlers = new Map([
        [
          jobType,
          async () => {
            begun += 1
            await sleep(150)
            return { done: true }
          },
        ],
      ])
      const own = createServices(await openDatabase(locationOf(cluster.url)), settings)
      const { database, jobs, events } = own
      const stopMaintenance = startMaintenance({ jobs, log: silentLog, retentionDays: 0, intervalMilliseconds: 200 })
      const worker = startWorker({ jobs, events, handlers, log: silentLog, concurrency: 5, leaseSeconds: 2 })
      while (begun < 10) await sleep(10)
      await cluster.stop(mode)
      await sleep(500)
      await cluster.start()
      await untilFinished(jobType)
      await worker.stop(1_000)
      await stopMaintenance()
      await events.close()
      await database.close()
      await checkHistory(jobType, 60)
    },
  )
})
