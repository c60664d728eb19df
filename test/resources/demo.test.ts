import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDemo } from '../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'

interface Row {
  readonly id: string
  readonly createdAt: string
}

interface Data {
  readonly users: { readonly nodes: readonly Row[] }
  readonly accounts: { readonly nodes: readonly (Row & { readonly profile: { id: string; syncedAt: string } })[] }
  readonly jobs: { readonly nodes: readonly (Row & { startedAt: string | null; finishedAt: string | null })[] }
  readonly events: { readonly nodes: readonly { type: string; resourceId: string; createdAt: string }[] }
}

let app: TestApp
let data: Data
const began = Date.now()

beforeAll(async () => {
  app = await startTestApp()
  const key = (await openDemo(app.database, 'memory')) ?? ''
  await settleEvents(app)
  const tenant: TestTenant = { tenantAppId: '', name: '', keyId: '', key }
  const response = await app.graphql<Data>(
    tenant,
    `{
      users(first: 100) { nodes { id createdAt } }
      accounts(first: 100) { nodes { id createdAt profile { id syncedAt } } }
      jobs(first: 100) { nodes { id createdAt startedAt finishedAt } }
      events(first: 500) { nodes { type resourceId createdAt } }
    }`,
  )
  data = response.data
})
afterAll(() => app.close())

describe('the demo tenant', () => {
  it('has users of the last weeks, in the order of their ids', () => {
    const { nodes } = data.users
    expect(nodes.map(({ id }) => id)).toEqual(nodes.map((_, index) => `usr_demo_${index + 1}`))
    const times = nodes.map(({ createdAt }) => Date.parse(createdAt))
    const gaps = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 3_600_000)
    expect(gaps.filter((hours) => hours < 4 || hours > 44)).toEqual([])
    expect(Math.max(...times)).toBeLessThan(began)
    // The minutes differ too.
    expect(new Set(nodes.map(({ createdAt }) => createdAt.slice(11, 16))).size).toBeGreaterThan(20)
  })

  it('has an event of each change, at the time that the rows have', () => {
    const expected = [
      data.users.nodes.map(({ id, createdAt }) => ['USER_CREATED', id, createdAt]),
      data.accounts.nodes.map(({ id, createdAt }) => ['ACCOUNT_LINKED', id, createdAt]),
      data.accounts.nodes.map(({ profile }) => ['PROFILE_SYNCED', profile.id, profile.syncedAt]),
      data.jobs.nodes.map(({ id, createdAt }) => ['JOB_CREATED', id, createdAt]),
      data.jobs.nodes.map(({ id, startedAt }) => ['JOB_STARTED', id, startedAt]),
      [['JOB_SUCCEEDED', 'job_demo_1', data.jobs.nodes[0]?.finishedAt]],
      [['JOB_FAILED', 'job_demo_3', data.jobs.nodes[2]?.finishedAt]],
    ].flatMap((events) => events.filter(([, , at]) => at !== null))
    const events = data.events.nodes.map(({ type, resourceId, createdAt }) => [type, resourceId, createdAt])
    expect(events.toSorted()).toEqual(expected.toSorted())
    const times = data.events.nodes.map(({ createdAt }) => createdAt)
    expect(times).toEqual(times.toSorted())
  })
})
