import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type JobHandler, PermanentError } from '../src/job/handler.ts'
import { startUpkeep } from '../src/job/job.upkeep.ts'
import { startWorker, type Worker } from '../src/job/worker.ts'
import { startTestApp, type TestApp, type TestTenant } from './support/app.ts'
import { follow } from './support/events.ts'
import { jobClient, present, type ShownJob } from './support/jobs.ts'

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

function store() {
  return { prisma: app.database.prisma, queue: app.services.queue }
}

const log = { error: (details: object) => warnings.push(details), warn: (details: object) => warnings.push(details) }

function start(
  handlers: Record<string, JobHandler>,
  { concurrency = 2, leaseSeconds = 30, store: own = store() } = {},
): Worker {
  const { changes } = app.services
  const options = {
    store: own,
    changes,
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

/** Waits until the job is in a state, as one who follows it. */
async function reaches(id: string, isThere: (job: ShownJob) => boolean): Promise<ShownJob> {
  return follow(app, tenant, id, isThere)
}

describe('a worker in process', () => {
  it('runs the handler of a type with the payload, and keeps what it returns', async () => {
    start({ sum: ({ numbers }: { numbers: number[] }) => ({ sum: numbers.reduce((one, other) => one + other) }) })
    const id = await create('sum', { payload: { numbers: [1, 2, 3] } })
    const job = await reaches(id, ({ status }) => status === 'SUCCEEDED')
    expect(job).toMatchObject({ attempts: 1, result: { sum: 6 }, error: null })
  })

  it('tries again what was thrown, with back-off, and gives up a PermanentError at once', async () => {
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
    expect(await reaches(hopeless, ({ status }) => status === 'FAILED')).toMatchObject({
      ...{ attempts: 1, error: { code: 'PermanentError', message: 'never', attempt: 1 } },
    })
    expect(await reaches(flaky, ({ status }) => status === 'SUCCEEDED')).toMatchObject({ attempts: 3, error: null })
    expect(attempts).toEqual([1, 2, 3])
  })

  it('shows progress, and tells the handler when the job is called off', async () => {
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
    expect(await reaches(id, ({ progress }) => progress === 0.5)).toMatchObject({ progressMessage: 'half way' })
    await call('cancelJob', { id })
    await ended.promise
    expect(reason).toMatchObject({ message: 'The job was called off' })
    expect(await reaches(id, () => true)).toMatchObject({ status: 'CANCELLED', result: null })
  })

  it.each([
    ['a number', () => 1],
    ['a list', () => [1]],
    ['a date', () => new Date()],
    ['what becomes a list in JSON', () => ({ toJSON: () => [1] })],
    ['a whole number that JSON has not', () => ({ large: 1n })],
    [
      'a ring',
      () => {
        const ring: { self?: object } = {}
        ring.self = ring
        return ring
      },
    ],
  ])('gives up a job whose handler returns %s', async (_, handler) => {
    start({ odd: handler })
    const id = await create('odd')
    expect(await reaches(id, ({ status }) => status === 'FAILED')).toMatchObject({ attempts: 1, result: null })
  })

  it.each([
    ['nothing at all', undefined],
    ['an object without anything', Object.create(null)],
    ['an error whose parts are odd', Object.assign(new Error(), { name: 1, message: {}, code: Symbol('x') })],
  ])('survives a handler that throws %s', async (_, thrown) => {
    start({
      strange() {
        throw thrown
      },
    })
    const id = await create('strange', { maxAttempts: 1 })
    const { error } = await reaches(id, ({ status }) => status === 'FAILED')
    expect(error).toEqual({ code: 'Error', message: expect.any(String), attempt: 1 })
  })

  it('never works on more jobs at a time than it may', async () => {
    let now = 0
    let most = 0
    start(
      {
        async busy() {
          now += 1
          most = Math.max(most, now)
          await sleep(20)
          now -= 1
        },
      },
      { concurrency: 3 },
    )
    const ids = await Promise.all(Array.from({ length: 12 }, () => create('busy')))
    for (const id of ids) await reaches(id, ({ status }) => status === 'SUCCEEDED')
    expect(most).toBe(3)
  })

  it('keeps the lease of a job that takes longer than it', async () => {
    const stopUpkeep = startUpkeep({ store: store(), log, retentionDays: 0, intervalMilliseconds: 100 })
    start({ slow: async () => sleep(2_500, { done: true }) }, { leaseSeconds: 1 })
    const id = await create('slow')
    expect(await reaches(id, ({ status }) => status === 'SUCCEEDED')).toMatchObject({
      attempts: 1,
      result: { done: true },
    })
    await stopUpkeep()
  })

  it('lets what is under way end when it stops, and takes no more', async () => {
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
    expect(await reaches(id, () => true)).toMatchObject({ status: 'SUCCEEDED', result: { ended: true } })
    const next = await create('last')
    expect(await reaches(next, () => true)).toMatchObject({ status: 'PENDING', attempts: 0 })
  })

  it('tells those that take too long when it stops; their jobs wait to be worked on again', async () => {
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
    const job = await reaches(id, () => true)
    expect(job).toMatchObject({ status: 'PENDING', attempts: 1, error: { code: 'WORKER_STOPPED' } })
  })

  it('a job whose worker gives no more sign of life goes to another', async () => {
    const id = await create('orphan')
    await call('claimJobs', { jobTypes: ['orphan'], leaseSeconds: 1 })
    const stopUpkeep = startUpkeep({ store: store(), log, retentionDays: 0, intervalMilliseconds: 100 })
    start({ orphan: (_, { attempt }) => ({ attempt }) })
    expect(await reaches(id, ({ status }) => status === 'SUCCEEDED')).toMatchObject({
      attempts: 2,
      result: { attempt: 2 },
    })
    await stopUpkeep()
  })

  it('tells the handler when the lease could not be kept', async () => {
    let reason: unknown
    const ended = Promise.withResolvers<void>()
    start(
      {
        async cut_off(_, { signal }) {
          const { prisma } = app.database
          // As if this worker were cut off from the database, and another had got the job.
          await prisma.$executeRaw`UPDATE job SET lease_token = gen_random_uuid()::text WHERE job_type = 'cut_off'`
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

  it('tells the handler when the lease has run out while nothing is heard of the database', async () => {
    const { prisma, queue } = store()
    // Extending a lease is the one statement that is sent so.
    const deaf = prisma.$extends({ query: { $executeRaw: () => new Promise(() => undefined) } })
    const told = Promise.withResolvers<unknown>()
    start(
      {
        unheard: (_, { signal }) =>
          new Promise<void>((resolve) => {
            signal.addEventListener('abort', () => {
              told.resolve(signal.reason)
              resolve()
            })
          }),
      },
      { leaseSeconds: 1, store: { queue, prisma: deaf as unknown as typeof prisma } },
    )
    await create('unheard')
    expect(await told.promise).toMatchObject({
      code: 'LEASE_LOST',
      cause: { message: 'It could not be extended in time' },
    })
  })

  it('works for every tenant', async () => {
    const other = await app.createTenant()
    const { id } = present((await jobClient(app, other)('createJob', { jobType: 'shared' })).job)
    const mine = await create('shared')
    start({ shared: () => ({ done: true }) })
    await reaches(mine, ({ status }) => status === 'SUCCEEDED')
    await follow(app, other, id, ({ status }) => status === 'SUCCEEDED')
  })
})
