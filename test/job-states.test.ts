import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JobStatus } from '../src/db/generated/prisma/enums.ts'
import { releaseLostLeases } from '../src/job/job.upkeep.ts'
import { startTestApp, type TestApp, type TestTenant } from './support/app.ts'
import { jobClient, present, queueEntries } from './support/jobs.ts'

let app: TestApp
let tenant: TestTenant
let call: ReturnType<typeof jobClient>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  call = jobClient(app, tenant)
})
afterAll(() => app.close())

/** A job of a type of its own, so that a claim finds it and no other. */
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

async function due({ id }: Subject): Promise<void> {
  // What waits for its back-off is due at once.
  await app.database.prisma.$executeRaw`UPDATE pgboss.job SET start_after = now() WHERE data->>'id' = ${id}`
}

async function wasRefused(mutation: string, input: Record<string, unknown>): Promise<boolean> {
  const { userErrors } = await call(mutation, input)
  expect(userErrors.every(({ code }) => code === 'CONFLICT')).toBe(true)
  return userErrors.length > 0
}

/** Every way to ask for a move. Each tells whether the move was made. */
const asks: Record<string, (job: Subject) => Promise<boolean>> = {
  async claim(job) {
    await due(job)
    const [lease] = present((await call('claimJobs', { jobTypes: [job.jobType] })).leases)
    if (lease) job.leaseToken = lease.leaseToken
    return lease !== undefined
  },
  complete: async ({ id, leaseToken }) => !(await wasRefused('completeJob', { id, leaseToken, result: { ok: true } })),
  fail: async ({ id, leaseToken }) => !(await wasRefused('failJob', { id, leaseToken, code: 'X', message: 'x' })),
  failForGood: async ({ id, leaseToken }) =>
    !(await wasRefused('failJob', { id, leaseToken, code: 'X', message: 'x', retryable: false })),
  async loseLease({ id }) {
    await app.database.prisma
      .$executeRaw`UPDATE job SET lease_expires_at = now() - interval '1 s' WHERE id = ${id} AND lease_token IS NOT NULL`
    return (await releaseLostLeases({ prisma: app.database.prisma, queue: app.services.queue }, app.app.log)) > 0
  },
  cancel: async ({ id }) => !(await wasRefused('cancelJob', { id })),
  retry: async ({ id }) => !(await wasRefused('retryJob', { id })),
}

/** What each may do, written down a second time: from which state, to which. `attemptsLeft` decides between two. */
const expected: Record<string, Partial<Record<JobStatus, (attemptsLeft: boolean) => JobStatus>>> = {
  claim: { PENDING: () => 'RUNNING' },
  complete: { RUNNING: () => 'SUCCEEDED' },
  fail: { RUNNING: (left) => (left ? 'PENDING' : 'FAILED') },
  failForGood: { RUNNING: () => 'FAILED' },
  loseLease: { RUNNING: (left) => (left ? 'PENDING' : 'FAILED') },
  cancel: { PENDING: () => 'CANCELLED', RUNNING: () => 'CANCELLED' },
  retry: { FAILED: () => 'PENDING', CANCELLED: () => 'PENDING' },
}

/** How to bring a job into a state. */
const ways: Record<JobStatus, string[]> = {
  PENDING: [],
  RUNNING: ['claim'],
  SUCCEEDED: ['claim', 'complete'],
  FAILED: ['claim', 'failForGood'],
  CANCELLED: ['cancel'],
}

async function read({ id }: Subject) {
  return app.database.prisma.job.findFirstOrThrow({ where: { tenantAppId: tenant.tenantAppId, id } })
}

/** What must be true of a job and its entry, whatever has happened. */
async function checkConsistent(job: Subject) {
  const { status, attempts, maxAttempts, leaseToken, leaseExpiresAt, startedAt, finishedAt } = await read(job)
  const isOver = !['PENDING', 'RUNNING'].includes(status)
  expect([leaseToken !== null, leaseExpiresAt !== null]).toEqual([status === 'RUNNING', status === 'RUNNING'])
  expect(finishedAt !== null).toBe(isOver)
  if (status === 'RUNNING') expect(startedAt).not.toBeNull()
  expect(attempts).toBeLessThanOrEqual(maxAttempts ?? 0)
  if (status === 'PENDING') expect(attempts).toBeLessThan(maxAttempts ?? 0)
  const state = (await queueEntries(app))[job.id]
  if (isOver) expect(state).toBeUndefined()
  else expect(state).toMatch(status === 'RUNNING' ? /^active$/ : /^(created|retry)$/)
}

describe('the states of a job', () => {
  const cases = (Object.keys(ways) as JobStatus[]).flatMap((status) =>
    Object.keys(asks).map((ask): [JobStatus, string] => [status, ask]),
  )

  it.each(cases)('%s: %s', async (status, ask) => {
    for (const maxAttempts of [1, 3]) {
      const job = await create(maxAttempts)
      for (const way of ways[status]) expect(await asks[way]?.(job)).toBe(true)
      const before = await read(job)
      expect(before.status).toBe(status)
      const next = expected[ask]?.[status]?.(maxAttempts > 1)
      expect(await asks[ask]?.(job)).toBe(next !== undefined)
      const after = await read(job)
      if (next === undefined) expect(after).toEqual(before)
      else expect(after.status).toBe(next)
      expect(after.attempts).toBe(before.attempts + (ask === 'claim' && next ? 1 : 0))
      await checkConsistent(job)
    }
  })

  it.each(['fail', 'loseLease', 'complete'])(
    'cancel and %s in the same moment leave row and queue in agreement',
    async (move) => {
      for (let run = 0; run < 15; run += 1) {
        const job = await create(3)
        await asks['claim']?.(job)
        await Promise.all([asks[move]?.(job), setImmediate().then(() => asks['cancel']?.(job))])
        await checkConsistent(job)
        // Whatever came of it, the job can be worked on again.
        const { status } = await read(job)
        if (status === 'SUCCEEDED') continue
        if (status === 'CANCELLED') expect(await asks['retry']?.(job)).toBe(true)
        expect(await asks['claim']?.(job)).toBe(true)
      }
    },
  )

  it('whatever is asked in whatever order, row and queue agree and attempts count the starts', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.constantFrom(...Object.keys(asks)), { maxLength: 12 }),
        async (maxAttempts, moves) => {
          const job = await create(maxAttempts)
          let starts = 0
          for (const move of moves) {
            const before = await read(job)
            const left = before.attempts < (before.maxAttempts ?? 0)
            const next = expected[move]?.[before.status]?.(left)
            expect(await asks[move]?.(job)).toBe(next !== undefined)
            if (move === 'claim' && next) starts += 1
            expect(await read(job)).toMatchObject({ status: next ?? before.status, attempts: starts })
            await checkConsistent(job)
          }
        },
      ),
      { numRuns: 40 },
    )
  })
})
