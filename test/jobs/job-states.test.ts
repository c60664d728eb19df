import { setImmediate } from 'node:timers/promises'
import type { JobStatus } from '@fusion-gateway/database'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { leaseLost } from '../../src/server/start-work.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { jobClient, present } from '../support/jobs.ts'
import { runs } from '../support/runs.ts'

let app: TestApp
let tenant: TestTenant
let call: ReturnType<typeof jobClient>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  call = jobClient(app, tenant)
})
afterAll(() => app.close())

/** A job with a type of its own, so that a claim finds only it. */
interface Subject {
  readonly id: string
  readonly jobType: string
  leaseToken: string
}

let number = 0
async function create(maxAttempts = 3): Promise<Subject> {
  number += 1
  const jobType = `type_${number}`
  const { id } = present((await call('createJob', { jobType, maxAttempts })).job)
  return { id, jobType, leaseToken: '00000000-0000-4000-8000-000000000000' }
}

async function endBackoff({ id }: Subject): Promise<void> {
  await app.database.prisma.$executeRaw`UPDATE job SET run_at = now() WHERE id = ${id} AND status = 'PENDING'`
}

async function wasRejected(mutation: string, input: Record<string, unknown>): Promise<boolean> {
  const { userErrors } = await call(mutation, input)
  expect(userErrors.every(({ code }) => code === 'CONFLICT')).toBe(true)
  return userErrors.length > 0
}

/** The transitions, as clients and the maintenance request them. Each returns whether the job changed. */
const transitions: Record<string, (job: Subject) => Promise<boolean>> = {
  async claim(job) {
    await endBackoff(job)
    const [lease] = present((await call('claimJobs', { jobTypes: [job.jobType] })).leases)
    if (lease) job.leaseToken = lease.leaseToken
    return lease !== undefined
  },
  complete: async ({ id, leaseToken }) => !(await wasRejected('completeJob', { id, leaseToken, result: { ok: true } })),
  fail: async ({ id, leaseToken }) => !(await wasRejected('failJob', { id, leaseToken, code: 'X', message: 'x' })),
  failForever: async ({ id, leaseToken }) =>
    !(await wasRejected('failJob', { id, leaseToken, code: 'X', message: 'x', retryable: false })),
  async loseLease({ id }) {
    await app.database.prisma
      .$executeRaw`UPDATE job SET lease_expires_at = now() - interval '1 s' WHERE id = ${id} AND lease_token IS NOT NULL`
    return (await app.services.jobs.failExpired(leaseLost)) > 0
  },
  cancel: async ({ id }) => !(await wasRejected('cancelJob', { id })),
  retry: async ({ id }) => !(await wasRejected('retryJob', { id })),
}

/** The states before and after each transition, independent of the code under test. */
const expected: Record<string, Partial<Record<JobStatus, (attemptsLeft: boolean) => JobStatus>>> = {
  claim: { PENDING: () => 'RUNNING' },
  complete: { RUNNING: () => 'SUCCEEDED' },
  fail: { RUNNING: (left) => (left ? 'PENDING' : 'FAILED') },
  failForever: { RUNNING: () => 'FAILED' },
  loseLease: { RUNNING: (left) => (left ? 'PENDING' : 'FAILED') },
  cancel: { PENDING: () => 'CANCELLED', RUNNING: () => 'CANCELLED' },
  retry: { FAILED: () => 'PENDING', CANCELLED: () => 'PENDING' },
}

/** The transitions from a new job to each state. */
const paths: Record<JobStatus, string[]> = {
  PENDING: [],
  RUNNING: ['claim'],
  SUCCEEDED: ['claim', 'complete'],
  FAILED: ['claim', 'failForever'],
  CANCELLED: ['cancel'],
}

async function read({ id }: Subject) {
  return app.database.prisma.job.findFirstOrThrow({ where: { tenantAppId: tenant.tenantAppId, id } })
}

/** Checks the rules that apply to a job in every state. */
function checkConsistent(row: Awaited<ReturnType<typeof read>>) {
  const { status, attempts, maxAttempts, leaseToken, leaseExpiresAt, startedAt, finishedAt } = row
  const isOver = !['PENDING', 'RUNNING'].includes(status)
  expect([leaseToken !== null, leaseExpiresAt !== null]).toEqual([status === 'RUNNING', status === 'RUNNING'])
  expect(finishedAt !== null).toBe(isOver)
  if (status === 'RUNNING') expect(startedAt).not.toBeNull()
  expect(attempts).toBeLessThanOrEqual(maxAttempts ?? 0)
  if (status === 'PENDING') expect(attempts).toBeLessThan(maxAttempts ?? 0)
}

describe('a job', () => {
  const cases = (Object.keys(paths) as JobStatus[]).flatMap((status) =>
    Object.keys(transitions).map((transition): [JobStatus, string] => [status, transition]),
  )

  it.each(cases)('in the state %s accepts or rejects the transition %s', async (status, transition) => {
    // Other transitions do not look at the attempts.
    for (const maxAttempts of ['fail', 'loseLease', 'retry'].includes(transition) ? [1, 3] : [1]) {
      const job = await create(maxAttempts)
      for (const step of paths[status]) expect(await transitions[step]?.(job)).toBe(true)
      const before = await read(job)
      expect(before.status).toBe(status)
      const next = expected[transition]?.[status]?.(maxAttempts > 1)
      expect(await transitions[transition]?.(job)).toBe(next !== undefined)
      const after = await read(job)
      if (next === undefined) expect(after).toEqual(before)
      else expect(after.status).toBe(next)
      expect(after.attempts).toBe(before.attempts + (transition === 'claim' && next ? 1 : 0))
      checkConsistent(after)
    }
  })

  it.each(['fail', 'loseLease', 'complete'])(
    'stays consistent when it is cancelled at the same time as %s',
    async (transition) => {
      for (let run = 0; run < runs(15, 4); run += 1) {
        const job = await create(3)
        await transitions['claim']?.(job)
        await Promise.all([transitions[transition]?.(job), setImmediate().then(() => transitions['cancel']?.(job))])
        const row = await read(job)
        checkConsistent(row)
        // In either case the job can run again.
        const { status } = row
        if (status === 'SUCCEEDED') continue
        if (status === 'CANCELLED') expect(await transitions['retry']?.(job)).toBe(true)
        expect(await transitions['claim']?.(job)).toBe(true)
      }
    },
  )

  it('stays consistent after any sequence of transitions, and counts its attempts', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.constantFrom(...Object.keys(transitions)), { maxLength: 12 }),
        async (maxAttempts, sequence) => {
          const job = await create(maxAttempts)
          let starts = 0
          let before = await read(job)
          for (const transition of sequence) {
            const left: boolean = before.attempts < (before.maxAttempts ?? 0)
            const next = expected[transition]?.[before.status]?.(left)
            expect(await transitions[transition]?.(job)).toBe(next !== undefined)
            if (transition === 'claim' && next) starts += 1
            const after = await read(job)
            expect(after).toMatchObject({ status: next ?? before.status, attempts: starts })
            checkConsistent(after)
            before = after
          }
        },
      ),
      { numRuns: runs(40, 4) },
    )
  })
})
