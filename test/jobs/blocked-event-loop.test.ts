import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { JobHandler } from '../../src/domain/job/worker/handler.ts'
import { startWorker, type Worker } from '../../src/domain/job/worker/worker.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { jobClient, present } from '../support/jobs.ts'

let app: TestApp
let tenant: TestTenant
let worker: Worker | undefined
beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterEach(async () => {
  await worker?.stop(0)
})
afterAll(() => app.close())

/** Starts a worker with a lease of a second, and creates a job. Returns its id, and waits for a warning. */
async function warningOf(jobType: string, handler: JobHandler) {
  const warned = Promise.withResolvers<{ details: object; message: string }>()
  const warn = (details: object, message: string) => warned.resolve({ details, message })
  const { jobs, events } = app.services
  const handlers = new Map([[jobType, handler]])
  worker = startWorker({ jobs, events, handlers, log: { warn, error: warn }, concurrency: 1, leaseSeconds: 1 })
  const { id } = present((await jobClient(app, tenant)('createJob', { jobType })).job)
  return { id, ...(await warned.promise) }
}

it('a handler that blocks the event loop past its lease is named in the log, with the duration and the documentation', async () => {
  const { id, details, message } = await warningOf('blocking', () => {
    for (const end = performance.now() + 1_500; performance.now() < end; );
  })
  expect(details).toMatchObject({ jobs: [{ id, jobType: 'blocking' }], leaseSeconds: 1 })
  expect(Object(details).blockedSeconds).toBeGreaterThanOrEqual(1)
  expect(message).toContain('docs/jobs.md')
})

it('the log says that a result is lost, because another worker has the job', async () => {
  const { id, details, message } = await warningOf('slow', async (_, { signal }) => {
    const { prisma } = app.database
    await prisma.$executeRaw`UPDATE job SET lease_token = node_uuid(tenant_app_id) WHERE job_type = 'slow'`
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { done: true }
  })
  expect(details).toMatchObject({ job: id, jobType: 'slow' })
  expect(message).toMatch(/is lost.*docs\/jobs\.md/)
})
