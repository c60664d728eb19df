import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Services } from '@fusion-gateway/gateway-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JobHandlers } from '../../src/domain/job/worker/handler.ts'
import { loadHandlers } from '../../src/domain/job/worker/load-handlers.ts'
import { startWorker, type Worker } from '../../src/domain/job/worker/worker.ts'
import { createServices } from '../../src/domain/services.ts'
import { startMaintenance } from '../../src/server/start-work.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createEmptyDir } from '../support/data-dir.ts'
import { follow } from '../support/events.ts'
import { jobClient, present, type ShownJob } from '../support/jobs.ts'
import { settings } from '../support/settings.ts'
import { silentLog } from '../support/webhooks.ts'

const code = `
  import { threadId } from 'node:worker_threads'
  import { setTimeout as sleep } from 'node:timers/promises'
  const job = ${JSON.stringify(path.resolve(import.meta.dirname, '../../src/domain/job/worker/handler.ts'))}

  export const isolated = true
  export const maxSeconds = { endless: 1, obedient: 1 }
  export const maxMemoryMib = { hungry: 32 }

  /** Blocks the thread like a loop, without its CPU. */
  function block(milliseconds) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
  }
  export function busy({ milliseconds }, { attempt, progress }) {
    progress(0.25, 'busy')
    block(milliseconds)
    progress(0.75, 'done')
    return { attempt, thread: threadId > 0, at: new Date(0) }
  }
  export function endless(_, { progress }) {
    progress(0.5)
    for (;;);
  }
  export const obedient = (_, { signal }) => sleep(3_600_000, undefined, { signal })
  export function cancelled(_, { progress }) {
    progress(0.5)
    block(3_600_000)
  }
  export async function reports_why(_, { signal, progress }) {
    progress(0.5)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { reason: signal.reason.message }
  }
  export async function hopeless() {
    const { PermanentError } = await import(job)
    throw new PermanentError('never \\0')
  }
  export function later() {
    throw Object.assign(new Error('not yet'), { code: 'BUSY', retryAfterSeconds: 3_600, cause: () => 'not cloneable' })
  }
  export async function careless() {
    Promise.reject(new Error('nobody awaits this'))
    await sleep(3_600_000)
  }
  export function exiting() {
    process.exit(7)
  }
  export function hungry() {
    const taken = []
    for (;;) taken.push(new Array(10_000).fill(taken.length))
  }
  export const circular = () => {
    const ring = {}
    return Object.assign(ring, { ring })
  }
  export const long = () => ({ text: 'x'.repeat(2 * 1024 * 1024) })
  export const odd = () => () => 1
  export const nothing = () => undefined
`

/** Long enough to extend a lease on a machine that is busy. */
const leaseSeconds = 5

let app: TestApp
let tenant: TestTenant
let call: ReturnType<typeof jobClient>
let handlers: JobHandlers
const folder = createEmptyDir()
/** With them no job is tried again while others run. */
let services: Services
let worker: Worker | undefined
let stopMaintenance: () => Promise<void>
/** A job that blocks its thread past the lease, while the jobs of other tests run. */
let blocking: Promise<ShownJob>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  call = jobClient(app, tenant)
  const file = path.join(folder, 'handlers.mjs')
  writeFileSync(file, code)
  handlers = await loadHandlers(file)
  services = createServices(app.database, { ...settings, backoff: { delaySeconds: 300, maxDelaySeconds: 300 } })
  stopMaintenance = startMaintenance({
    jobs: services.jobs,
    log: silentLog,
    retentionDays: 0,
    intervalMilliseconds: 100,
  })
  blocking = run('busy', ended, { milliseconds: leaseSeconds * 1_000 + 1_000 })
})
afterAll(async () => {
  await stopWorker()
  await stopMaintenance()
  await services.events.close()
  await app.close()
  rmSync(folder, { recursive: true })
})

/** Stops the worker at once. The next job starts another. */
async function stopWorker(): Promise<void> {
  await worker?.stop(0)
  worker = undefined
}

/** Creates a job, and waits until it meets the condition. What fails jobs whose lease has ended runs too. */
async function run(jobType: string, isMet: (job: ShownJob) => boolean, payload = {}): Promise<ShownJob> {
  const { jobs, events } = services
  worker ??= startWorker({ jobs, events, handlers, log: silentLog, concurrency: 2, leaseSeconds })
  const { id } = present((await call('createJob', { jobType, payload, maxAttempts: 2 })).job)
  return follow(app, tenant, id, isMet)
}

const ended = ({ status, error }: ShownJob) => status === 'SUCCEEDED' || status === 'CANCELLED' || error !== null

describe('an isolated handler', () => {
  it.each(['endless', 'obedient'])('fails with TIMEOUT if it runs longer than maxSeconds: %s', async (jobType) => {
    const { status, error } = await run(jobType, ended)
    expect({ status, error }).toEqual({
      status: 'PENDING',
      error: { code: 'TIMEOUT', message: 'The handler ran longer than 1 s', attempt: 1 },
    })
  })

  it.each([
    ['hopeless', { status: 'FAILED', error: { code: 'PermanentError', message: 'never \ufffd' } }],
    ['later', { status: 'PENDING', error: { code: 'BUSY', message: 'not yet' } }],
    ['careless', { status: 'PENDING', error: { code: 'Error', message: 'nobody awaits this' } }],
    ['exiting', { status: 'PENDING', error: { code: 'THREAD_ENDED', message: expect.stringContaining('7') } }],
    ['hungry', { status: 'PENDING', error: { code: 'OUT_OF_MEMORY', message: expect.stringContaining('32 MiB') } }],
    ['circular', { status: 'FAILED', error: { code: 'PermanentError', message: expect.stringContaining('JSON') } }],
    ['long', { status: 'FAILED', error: { code: 'PermanentError', message: expect.stringContaining('too long') } }],
    ['odd', { status: 'FAILED', error: { code: 'PermanentError', message: expect.stringContaining('object') } }],
    ['nothing', { status: 'SUCCEEDED', error: null, result: null }],
  ])('ends as in the process: %s', async (jobType, expected) => {
    const job = await run(jobType, ended)
    expect(job).toMatchObject({ attempts: 1, ...expected })
    if (jobType === 'later') expect(Date.parse(job.runAt ?? '') - Date.now()).toBeGreaterThan(3_000_000)
  })

  it('can block its thread past the lease: the result of the first attempt is stored', async () => {
    expect(await blocking).toMatchObject({
      status: 'SUCCEEDED',
      attempts: 1,
      progress: 0.75,
      progressMessage: 'done',
      result: { attempt: 1, thread: true, at: '1970-01-01T00:00:00.000Z' },
    })
  })

  it('is ended when the job is cancelled, also if it blocks', async () => {
    const { id } = await run('cancelled', ({ progress }) => progress !== null)
    await call('cancelJob', { id })
    // Stopping waits for the thread.
    await stopWorker()
    expect(await follow(app, tenant, id, ended)).toMatchObject({ status: 'CANCELLED' })
  })

  it('gets the reason why its signal aborts', async () => {
    const { id } = await run('reports_why', ({ progress }) => progress !== null)
    await stopWorker()
    expect(await follow(app, tenant, id, ended)).toMatchObject({ result: { reason: 'The worker was stopped' } })
  })
})
