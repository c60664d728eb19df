import type { Services } from '@fusion-gateway/gateway-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxMessageLength } from '../../src/domain/job/job.input.ts'
import { type JobHandler, PermanentError } from '../../src/domain/job/worker/handler.ts'
import { startWorker, type Worker } from '../../src/domain/job/worker/worker.ts'
import { createServices } from '../../src/domain/services.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { follow } from '../support/events.ts'
import { jobClient, present, type ShownJob } from '../support/jobs.ts'
import { settings } from '../support/settings.ts'
import { silentLog } from '../support/webhooks.ts'

let app: TestApp
let tenant: TestTenant
let call: ReturnType<typeof jobClient>
/** With them a job is not tried again before the test has seen its first attempt. */
let services: Services
let worker: Worker
let current: JobHandler

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  call = jobClient(app, tenant)
  services = createServices(app.database, { ...settings, backoff: { delaySeconds: 3_600, maxDelaySeconds: 3_600 } })
  const { jobs, events } = services
  const handlers = new Map<string, JobHandler>([['odd', (...given) => current(...given)]])
  worker = startWorker({ jobs, events, handlers, log: silentLog, concurrency: 1, leaseSeconds: 30 })
})
afterAll(async () => {
  await worker.stop(0)
  await services.events.close()
  await app.close()
})

/** Runs a handler on one job. Returns the job after its first attempt. */
async function run(handler: JobHandler): Promise<ShownJob> {
  current = handler
  const { id } = present((await call('createJob', { jobType: 'odd' })).job)
  return follow(app, tenant, id, ({ status, error }) => status === 'SUCCEEDED' || error !== null)
}

const high = '\ud83d'
const unreadable = {
  get message(): string {
    throw new Error('unreadable')
  },
}

describe('the first attempt ends, and the job has what can be stored of', () => {
  it.each([
    ['NUL', 'a\0b', 'a\ufffdb'],
    ['an unpaired surrogate', `a${high}b`, 'a\ufffdb'],
    ['more characters than GraphQL accepts', '😀'.repeat(maxMessageLength + 1), '😀'.repeat(maxMessageLength)],
  ])('an error message with %s', async (_, message, stored) => {
    const retried = await run(() => {
      throw Object.assign(new Error(message), { code: `X\0${high}` })
    })
    expect(retried).toMatchObject({ status: 'PENDING', attempts: 1, error: { code: 'X\ufffd\ufffd', message: stored } })
    const failed = await run(() => {
      throw new PermanentError(message)
    })
    expect(failed).toMatchObject({ status: 'FAILED', attempts: 1, error: { message: stored } })
  })

  it.each([
    ['whose properties cannot be read', unreadable],
    ['without a message', new Error()],
  ])('an error %s', async (_, thrown) => {
    const { error, attempts } = await run(() => {
      throw thrown
    })
    expect(attempts).toBe(1)
    expect(error?.message).toMatch(/\w/)
  })

  it.each([
    ['NUL', 'a\0b', 'a\ufffdb'],
    ['an unpaired surrogate', `a${high}b`, 'a\ufffdb'],
    ['3,000,000 characters', 'x'.repeat(3_000_000), 'x'.repeat(maxMessageLength)],
    ['only spaces', '  ', null],
    ['a number', 5, '5'],
    ['an object', Object.create(null), null],
  ])('a progress message with %s', async (_, message, stored) => {
    const job = await run((_payload, { progress }) => progress(0.5, message as string))
    expect(job).toMatchObject({ status: 'SUCCEEDED', progress: 0.5, progressMessage: stored })
  })

  it.each([
    ['NUL', { 'a\0': ['b\0'] }, { 'a\0': ['b\0'] }],
    ['unpaired surrogates', { [high]: { text: `b${high}` } }, { [high]: { text: `b${high}` } }],
  ])('a result with %s', async (_, result, stored) => {
    expect(await run(() => result)).toMatchObject({ status: 'SUCCEEDED', attempts: 1, result: stored })
  })
})
