import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type JobHandler, PermanentError } from '../../src/domain/job/worker/handler.ts'
import { startWorker, type Worker } from '../../src/domain/job/worker/worker.ts'
import { startMaintenance } from '../../src/server/start-work.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { follow } from '../support/events.ts'
import { jobClient, present, type ShownJob } from '../support/jobs.ts'

let app: TestApp
let tenant: TestTenant
let call: ReturnType<typeof jobClient>
const started: Worker[] = []
const warnings: unknown[] = []

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  call = jobClient(app, tenant)
})
afterEach(async () => {
  await Promise.all(started.splice(0).map((worker) => worker.stop(0)))
})
afterAll(() => app.close())

const log = { error: (details: object) => warnings.push(details), warn: (details: object) => warnings.push(details) }

function start(
  handlers: Record<string, JobHandler>,
  { concurrency = 2, leaseSeconds = 30, jobs = app.services.jobs } = {},
): Worker {
  const { events } = app.services
  const options = {
    jobs,
    events,
    handlers: new Map(Object.entries(handlers)),
    log,
    concurrency,
    leaseSeconds,
  }
  const worker = startWorker({ ...options, pollMilliseconds: 200 })
  started.push(worker)
  return worker
}

async function create(jobType: string, input: Record<string, unknown> = {}): Promise<string> {
  return present((await call('createJob', { jobType, ...input })).job).id
}

/** Waits until a subscription reports a job that meets the condition. */
async function waitForJob(id: string, isMet: (job: ShownJob) => boolean): Promise<ShownJob> {
  return follow(app, tenant, id, isMet)
}

describe('a worker in the process of the gateway', () => {
  it('runs the handler of the type with the payload, and stores its result', async () => {
    start({ sum: ({ numbers }: { numbers: number[] }) => ({ sum: numbers.reduce((one, other) => one + other) }) })
    const id = await create('sum', { payload: { numbers: [1, 2, 3] } })
    const job = await waitForJob(id, ({ status }) => status === 'SUCCEEDED')
    expect(job).toMatchObject({ attempts: 1, result: { sum: 6 }, error: null })
  })

  it('retries after an error with back-off, and fails the job at once after a PermanentError', async () => {
    const attempts: number[] = []
    start({
      flaky(_, { attempt }) {
        attempts.push(attempt)
        if (attempt < 3) throw Object.assign(new Error('not yet'), { code: 'BUSY' })
        return { attempt }
      },
      hopeless() {
        throw new PermanentError('never')
      },
    })
    const [flaky, hopeless] = await Promise.all([create('flaky'), create('hopeless')])
    expect(await waitForJob(hopeless, ({ status }) => status === 'FAILED')).toMatchObject({
      attempts: 1,
      error: { code: 'PermanentError', message: 'never', attempt: 1 },
    })
    expect(await waitForJob(flaky, ({ status }) => status === 'SUCCEEDED')).toMatchObject({ attempts: 3, error: null })
    expect(attempts).toEqual([1, 2, 3])
  })

  it.each([
    [3_600, 3_590, 3_610],
    [Number.POSITIVE_INFINITY, 86_390, 86_410],
    [-5, 0, 10],
    [Number.NaN, 0, 10],
  ])('waits as long as an error says in retryAfterSeconds: %s', async (retryAfterSeconds, least, most) => {
    start({
      busy() {
        throw Object.assign(new Error('later'), { code: 'BUSY', retryAfterSeconds })
      },
    })
    const { id } = await waitForJob(await create('busy'), ({ error }) => error !== null)
    const { runAt, error } = await app.database.prisma.job.findFirstOrThrow({ where: { id } })
    const seconds = (Number(runAt) - Date.parse(String(Object(error).at))) / 1_000
    expect(seconds).toBeGreaterThanOrEqual(least)
    expect(seconds).toBeLessThanOrEqual(most)
  })

  it('stores progress, and aborts the handler when the job is cancelled', async () => {
    let reason: unknown
    const ended = Promise.withResolvers<void>()
    start({
      async long(_, { signal, progress }) {
        progress(0.5, 'half way')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reason = signal.reason
        ended.resolve()
      },
    })
    const id = await create('long')
    expect(await waitForJob(id, ({ progress }) => progress === 0.5)).toMatchObject({ progressMessage: 'half way' })
    await call('cancelJob', { id })
    await ended.promise
    expect(reason).toMatchObject({ message: 'The job was cancelled' })
    expect(await waitForJob(id, () => true)).toMatchObject({ status: 'CANCELLED', result: null })
  })

  it.each([
    ['a number', () => 1],
    ['a list', () => [1]],
    ['a date', () => new Date()],
    ['an object that is a list in JSON', () => ({ toJSON: () => [1] })],
    ['a bigint', () => ({ large: 1n })],
    [
      'a circular object',
      () => {
        const ring: { self?: object } = {}
        ring.self = ring
        return ring
      },
    ],
  ])('fails a job whose handler returns %s', async (_, handler) => {
    start({ odd: handler })
    const id = await create('odd')
    expect(await waitForJob(id, ({ status }) => status === 'FAILED')).toMatchObject({ attempts: 1, result: null })
  })

  it.each([
    ['undefined', undefined],
    ['an empty object', Object.create(null)],
    ['an error with odd properties', Object.assign(new Error(), { name: 1, message: {}, code: Symbol('x') })],
  ])('survives a handler that throws %s', async (_, thrown) => {
    start({
      strange() {
        throw thrown
      },
    })
    const id = await create('strange', { maxAttempts: 1 })
    const { error } = await waitForJob(id, ({ status }) => status === 'FAILED')
    expect(error).toEqual({ code: 'Error', message: expect.any(String), attempt: 1 })
  })

  it('runs at most as many jobs at a time as configured', async () => {
    let running = 0
    let maximum = 0
    start(
      {
        async busy() {
          running += 1
          maximum = Math.max(maximum, running)
          await sleep(20)
          running -= 1
        },
      },
      { concurrency: 3 },
    )
    const ids = await Promise.all(Array.from({ length: 12 }, () => create('busy')))
    for (const id of ids) await waitForJob(id, ({ status }) => status === 'SUCCEEDED')
    expect(maximum).toBe(3)
  })

  it('extends the lease of a long job', async () => {
    const stopMaintenance = startMaintenance({
      jobs: app.services.jobs,
      log,
      retentionDays: 0,
      intervalMilliseconds: 100,
    })
    start({ slow: async () => sleep(2_500, { done: true }) }, { leaseSeconds: 1 })
    const id = await create('slow')
    expect(await waitForJob(id, ({ status }) => status === 'SUCCEEDED')).toMatchObject({
      attempts: 1,
      result: { done: true },
    })
    await stopMaintenance()
  })

  it('finishes running jobs when it stops, and claims no more', async () => {
    const begun = Promise.withResolvers<void>()
    const worker = start({
      async last() {
        begun.resolve()
        await sleep(100)
        return { ended: true }
      },
    })
    const id = await create('last')
    await begun.promise
    await worker.stop(5_000)
    expect(await waitForJob(id, () => true)).toMatchObject({ status: 'SUCCEEDED', result: { ended: true } })
    const next = await create('last')
    expect(await waitForJob(next, () => true)).toMatchObject({ status: 'PENDING', attempts: 0 })
  })

  it('aborts long jobs when it stops, and leaves them to other workers', async () => {
    const begun = Promise.withResolvers<void>()
    const worker = start({
      async endless(_, { signal }) {
        begun.resolve()
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    })
    const id = await create('endless')
    await begun.promise
    await worker.stop(50)
    const job = await waitForJob(id, () => true)
    expect(job).toMatchObject({ status: 'PENDING', attempts: 1, error: { code: 'WORKER_STOPPED' } })
  })

  it('says why it aborted a job whose handler passes the signal to a function of Node', async () => {
    const begun = Promise.withResolvers<void>()
    const worker = start({
      async sleeping(_, { signal }) {
        begun.resolve()
        await sleep(3_600_000, undefined, { signal })
      },
    })
    const id = await create('sleeping')
    await begun.promise
    await worker.stop(50)
    expect(await waitForJob(id, () => true)).toMatchObject({ status: 'PENDING', error: { code: 'WORKER_STOPPED' } })
  })

  it('runs a job whose worker stopped extending the lease', async () => {
    const id = await create('orphan')
    await call('claimJobs', { jobTypes: ['orphan'], leaseSeconds: 1 })
    const stopMaintenance = startMaintenance({
      jobs: app.services.jobs,
      log,
      retentionDays: 0,
      intervalMilliseconds: 100,
    })
    start({ orphan: (_, { attempt }) => ({ attempt }) })
    expect(await waitForJob(id, ({ status }) => status === 'SUCCEEDED')).toMatchObject({
      attempts: 2,
      result: { attempt: 2 },
    })
    await stopMaintenance()
  })

  it('aborts the handler when another worker holds the job', async () => {
    let reason: unknown
    const ended = Promise.withResolvers<void>()
    start(
      {
        async cut_off(_, { signal }) {
          const { prisma } = app.database
          // Simulates a lost connection, after which another worker claimed the job.
          await prisma.$executeRaw`UPDATE job SET lease_token = node_uuid(tenant_app_id) WHERE job_type = 'cut_off'`
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          reason = signal.reason
          ended.resolve()
        },
      },
      { leaseSeconds: 1 },
    )
    const id = await create('cut_off')
    await ended.promise
    expect(reason).toMatchObject({ code: 'LEASE_LOST' })
    await call('cancelJob', { id })
  })

  it('aborts the handler when the lease expires while the database does not answer', async () => {
    const silentJobs = app.services.jobs.on(app.database.sql)
    silentJobs.extendLease = () => new Promise<never>(() => undefined)
    const aborted = Promise.withResolvers<unknown>()
    start(
      {
        unheard: (_, { signal }) =>
          new Promise<void>((resolve) => {
            signal.addEventListener('abort', () => {
              aborted.resolve(signal.reason)
              resolve()
            })
          }),
      },
      { leaseSeconds: 1, jobs: silentJobs },
    )
    await create('unheard')
    expect(await aborted.promise).toMatchObject({
      code: 'LEASE_LOST',
      cause: { message: 'The lease could not be extended in time' },
    })
  })

  it('runs the jobs of every tenant', async () => {
    const other = await app.createTenant()
    const { id } = present((await jobClient(app, other)('createJob', { jobType: 'shared' })).job)
    const mine = await create('shared')
    start({ shared: () => ({ done: true }) })
    await waitForJob(mine, ({ status }) => status === 'SUCCEEDED')
    await follow(app, other, id, ({ status }) => status === 'SUCCEEDED')
  })

  it('runs the jobs of all tenants and types in turn, even if one tenant has many jobs', async () => {
    const tenants = await Promise.all([1, 2, 3].map(() => app.createTenant()))
    const [busy, ...others] = tenants as [TestTenant, ...TestTenant[]]
    const createFor = (owner: TestTenant, jobType: string) => jobClient(app, owner)('createJob', { jobType })
    for (let index = 0; index < 20; index += 1) await createFor(busy, 'turn_one')
    for (const owner of others) for (const type of ['turn_one', 'turn_two']) await createFor(owner, type)
    const order: string[] = []
    const done = Promise.withResolvers<void>()
    const run = (type: string) => () => {
      order.push(type)
      if (order.length === 24) done.resolve()
    }
    start({ turn_one: run('turn_one'), turn_two: run('turn_two') }, { concurrency: 1 })
    await done.promise
    const finished = await app.database.prisma.job.findMany({
      where: { tenantAppId: { in: others.map(({ tenantAppId }) => tenantAppId) } },
    })
    const allStarts = await app.database.prisma.job.findMany({
      where: { jobType: { in: ['turn_one', 'turn_two'] } },
      orderBy: { startedAt: 'asc' },
    })
    // The jobs of the other tenants start among the first, although they were created last.
    const positions = finished.map(({ id }) => allStarts.findIndex((job) => job.id === id))
    expect(Math.max(...positions)).toBeLessThan(12)
  })
})
