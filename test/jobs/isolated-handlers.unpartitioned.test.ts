import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { JobHandlers } from '../../src/domain/job/worker/handler.ts'
import { loadHandlers } from '../../src/domain/job/worker/load-handlers.ts'
import { startWorker } from '../../src/domain/job/worker/worker.ts'
import { startMaintenance } from '../../src/server/start-work.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createEmptyDir } from '../support/data-dir.ts'
import { follow } from '../support/events.ts'
import { jobClient, present, type ShownJob } from '../support/jobs.ts'
import { silentLog } from '../support/webhooks.ts'

const code = `
  import { threadId } from 'node:worker_threads'
  import { setTimeout as sleep } from 'node:timers/promises'
  const job = ${JSON.stringify(path.resolve(import.meta.dirname, '../../src/domain/job/worker/handler.ts'))}

  export const isolated = true
  export const maxSeconds = { endless: 1, obedient: 1 }
  export const maxMemoryMib = { hungry: 32 }

  function block(milliseconds) {
    for (const end = Date.now() + milliseconds; Date.now() < end; );
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
    for (;;);
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
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  call = jobClient(app, tenant)
  const file = path.join(folder, 'handlers.mjs')
  writeFileSync(file, code)
  handlers = await loadHandlers(file)
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

/** Starts a worker and what fails jobs whose lease has ended. Creates a job, and waits until it meets the condition. */
async function run(jobType: string, isMet: (job: ShownJob) => boolean, payload = {}): Promise<ShownJob> {
  const { jobs, events } = app.services
  const worker = startWorker({ jobs, events, handlers, log: silentLog, concurrency: 2, leaseSeconds })
  stops.push(() => worker.stop(0))
  stops.push(startMaintenance({ jobs, log: silentLog, retentionDays: 0, intervalMilliseconds: 100 }))
  const { id } = present((await call('createJob', { jobType, payload, maxAttempts: 2 })).job)
  return follow(app, tenant, id, isMet)
}

const ended = ({ status, error }: ShownJob) => status === 'SUCCEEDED' || status === 'CANCELLED' || error !== null

describe('an isolated handler', () => {
  it('can block its thread past the lease: the result of the first attempt is stored', async () => {
    const job = await run('busy', ended, { milliseconds: leaseSeconds * 1_000 + 1_000 })
    expect(job).toMatchObject({
      status: 'SUCCEEDED',
      attempts: 1,
      progress: 0.75,
      progressMessage: 'done',
      result: { attempt: 1, thread: true, at: '1970-01-01T00:00:00.000Z' },
    })
  })

  it.each(['endless', 'obedient'])('fails with TIMEOUT if it runs longer than maxSeconds: %s', async (jobType) => {
    const { status, error } = await run(jobType, ended)
    expect({ status, error }).toEqual({
      status: 'PENDING',
      error: { code: 'TIMEOUT', message: 'The handler ran longer than 1 s', attempt: 1 },
    })
  })

  it('is ended when the job is cancelled, also if it blocks', async () => {
    const { id } = await run('cancelled', ({ progress }) => progress !== null)
    await call('cancelJob', { id })
    // Stopping waits for the thread.
    await stops[0]?.()
    expect(await follow(app, tenant, id, ended)).toMatchObject({ status: 'CANCELLED' })
  })

  it('gets the reason why its signal aborts', async () => {
    const { id } = await run('reports_why', ({ progress }) => progress !== null)
    await stops[0]?.()
    expect(await follow(app, tenant, id, ended)).toMatchObject({ result: { reason: 'The worker was stopped' } })
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
})
