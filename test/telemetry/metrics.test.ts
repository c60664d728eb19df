import { createRateLimit } from '@fusion-gateway/limits'
import { countPointsByKey, createMetrics } from '@fusion-gateway/telemetry'
import { Registry } from '@prometheus-io/client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

/** Reads the current values of the metrics, by their printed name and labels. */
async function read(): Promise<Map<string, number>> {
  const { body, headers } = await app.app.inject('/metrics')
  expect(headers['content-type']).toMatch(/^text\/plain; version=0.0.4/)
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

/** Runs `work`, and returns a function that tells how much a metric has grown meanwhile. */
async function growth(work: () => Promise<unknown>) {
  const before = await read()
  await work()
  const after = await read()
  return (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
}

it('the metrics count requests by route, operation and status', async () => {
  const grown = await growth(async () => {
    await app.rest(tenant, 'GET', '/users/nobody')
    await app.graphql(tenant, 'query Who { viewer { keyName } }')
    await app.app.inject('/somewhere/else')
  })
  const count = (labels: string) => grown(`fusion_http_request_duration_seconds_count{${labels}}`)
  expect(count('route="GET /users/:id",operation="",status="404"')).toBe(1)
  expect(count('route="POST /graphql",operation="Who",status="200"')).toBe(1)
  expect(count('route="unknown",operation="",status="404"')).toBe(1)
})

it('the metrics count statements, batches, executors and errors', async () => {
  const { user } = await createOneOfEach(app, tenant)
  const query = `{ user(id: "${user.id}") { accounts { id } } }`
  const grown = await growth(async () => {
    await app.graphql(tenant, query)
    await app.graphql(tenant, query)
    await app.graphql(tenant, query)
    await app.graphql(tenant, '{ users(first: -1) { nodes { id } } }')
  })
  // One statement for each of three queries, and one for the key of each of four requests.
  expect(grown('fusion_sql_statement_duration_seconds_count{outcome="ok"}')).toBe(3 + 4)
  expect(grown('fusion_batch_size_count')).toBe(3)
  expect(grown('fusion_graphql_runs_total{executor="compiled"}')).toBe(2)
  expect(grown('fusion_graphql_compiled_total')).toBe(1)
  expect(grown('fusion_graphql_errors_total{code="BAD_USER_INPUT"}')).toBe(1)
})

it('the metrics limit the number of operation names', () => {
  const { operationLabel } = createMetrics()
  const labels = Array.from({ length: 200 }, (_, index) => operationLabel(`Name${index}`, `tenant${index % 20}`))
  expect(new Set(labels).size).toBeLessThanOrEqual(101)
  expect(labels.at(-1)).toBe('other')
  expect(operationLabel('Name0')).toBe('Name0')
})

it('the metrics have room for the operations of other tenants, however many names one tenant sends', () => {
  const { operationLabel } = createMetrics()
  const labels = Array.from({ length: 200 }, (_, index) => operationLabel(`Name${index}`, 'one'))
  expect(labels.filter((label) => label !== 'other')).toHaveLength(50)
  expect(operationLabel('Users', 'other')).toBe('Users')
})

it('the metrics have the points of the 20 keys that have spent most lately, and the total of all keys', async () => {
  let now = 0
  const registry = new Registry()
  const spend = countPointsByKey(registry, { now: () => now })
  const keysShown = async () =>
    [...(await registry.metrics()).matchAll(/by_key_total{key="(\w+)"} (\d+)/g)].map(
      ([, key, points]) => `${key} ${points}`,
    )
  for (let number = 1; number <= 30; number += 1) spend(`key_${number}`, number)
  expect((await keysShown()).toSorted()).toEqual(
    Array.from({ length: 20 }, (_, index) => `key_${index + 11} ${index + 11}`).toSorted(),
  )
  // A key that spends much later gets a series, with all its points, when a minute has passed.
  spend('key_1', 100)
  expect(await keysShown()).not.toContain('key_1 101')
  now += 60_000
  expect(await keysShown()).toContain('key_1 101')
  expect(await keysShown()).toHaveLength(20)
  expect(await registry.metrics()).toContain(`fusion_points_spent_total ${(30 * 31) / 2 + 100}`)
})

it('the metrics count the points of a request for its key, with and without a limit', async () => {
  for (const limit of [10_000, 0]) {
    const log = { error: () => undefined, warn: () => undefined }
    const { metrics } = app.services
    const gateway = await app.startAnother({ rateLimit: createRateLimit(limit, { log, metrics }) })
    const other = await app.createTenant()
    const grown = await growth(() => gateway.graphql(other, '{ users(first: 7) { pageInfo { hasNextPage } } }'))
    expect(grown('fusion_points_spent_total')).toBe(7)
    expect(grown(`fusion_points_spent_by_key_total{key="${other.keyId}"}`)).toBe(7)
    await gateway.close()
  }
})

it('/metrics gives the same response for a second, because collecting it takes long', async () => {
  const gateway = await app.startAnother({ metricsAgeMilliseconds: 60_000 })
  const { body } = await gateway.app.inject('/metrics')
  await gateway.rest(tenant, 'GET', '/users/nobody')
  expect((await gateway.app.inject('/metrics')).body).toBe(body)
  await gateway.close()
})

it('/metrics is missing among the APIs if the metrics have a port of their own', async () => {
  const gateway = await app.startAnother({ metricsPort: 1 })
  expect((await gateway.app.inject('/metrics')).statusCode).toBe(404)
  await gateway.close()
})
