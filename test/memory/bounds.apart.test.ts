import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { OperationRequest } from '@fusion-gateway/gateway-kit'
import { createResponseMemory, type ResponseMemoryOptions } from '@fusion-gateway/gateway-kit'
import { createFairQueues } from '@fusion-gateway/limits'
import { createMetrics } from '@fusion-gateway/telemetry'
import { expect, it } from 'vitest'

// The memory by itself: a gateway would take minutes for so many requests. In a process of its own: the memory that
// earlier files have left would be freed meanwhile.

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** The memory that this process uses. */
function usedBytes(): number {
  // Once does not find all.
  for (let times = 0; times < 4; times += 1) collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const maxBytes = 6 * 1024 * 1024

/** Creates a memory whose log never has a change. */
function createMemory() {
  const metrics = createMetrics()
  const unchanged = { server: 'one', position: { begun: 'evt_0', running: [] }, changes: [] }
  const options = {
    maxBytes,
    database: { sql: { nodes: [], nodeOf: () => '' }, probe: { for: () => undefined } },
    queue: createFairQueues().checks,
    changeLog: { models: new Set(['User']), readChanges: async () => unchanged },
    metrics,
  } as unknown as ResponseMemoryOptions
  const countedBytes = async () => (await metrics.keptResponses.bytes.get()).values[0]?.value ?? 0
  return { ...createResponseMemory(options), countedBytes }
}

// As those of operations, which all requests share.
const models = new Set(['User'])

/** A query for users by their ids, or for a page of them. */
const operation = {
  kind: 'query',
  summary: { hash: 'users' },
  dependenciesOn: () => ({
    models,
    modelsOf: () => models,
    unlogged: [],
    idsOf: ({ ids }: { ids?: string[] }) => ids,
  }),
}

/** Requests a query once. Returns whether its response was in the memory; otherwise it is offered. */
async function request(
  memory: ReturnType<typeof createMemory>,
  tenantAppId: string,
  variables: object,
  read: () => object,
): Promise<boolean> {
  const asked = {
    operation,
    variables,
    bodyLength: 100,
    statements: { statements: 0 },
    context: { viewer: { tenantAppId, userId: undefined, scopes: [] } },
  }
  const found = await memory.find(asked as unknown as OperationRequest)
  if (!found?.response) found?.keep?.({ data: read(), length: 1_000 })
  found?.release()
  return found?.response !== undefined
}

const usersOf = (tenant: string, tree: number, count: number) => ({
  users: {
    nodes: Array.from({ length: count }, (_, index) => ({
      id: `usr_${tree}_${index}`,
      name: `User ${index} of ${tenant}`,
      email: `user-${index}@${tenant}.example`,
      accounts: [{ id: `acc_${tree}_${index}`, displayName: `Account ${tree}`, platform: 'YOUTUBE' }],
    })),
  },
})

// With small responses, the objects around them count most.
it.each([
  ['trees of 20 users', 20, () => undefined],
  ['trees of one user by its id', 1, (tree: number) => [`usr_${tree}_0`]],
  [
    'lists of 20 users by their ids',
    20,
    (tree: number) => Array.from({ length: 20 }, (_, index) => `usr_${tree}_${index}`),
  ],
])('hundreds of %s of each of dozens of tenants take the bytes that are configured', async (_, users, idsOf) => {
  const memory = createMemory()
  const before = usedBytes()
  for (let number = 0; number < 50; number += 1) {
    const tenant = `ten_${number}`
    const requestAll = () =>
      Promise.all(
        Array.from({ length: 300 }, (_, tree) =>
          request(memory, tenant, { tree, ids: idsOf(tree) }, () => usersOf(tenant, tree, users)),
        ),
      )
    await requestAll()
    expect(await requestAll()).not.toContain(true)
  }
  const counted = await memory.countedBytes()
  expect(counted).toBeLessThanOrEqual(maxBytes)
  expect(counted).toBeGreaterThan(0.9 * maxBytes)
  const used = usedBytes() - before
  expect(used / counted).toBeGreaterThan(0.8)
  expect(used / counted).toBeLessThan(1.2)
  expect(await request(memory, 'ten_49', { tree: 299, ids: idsOf(299) }, () => ({}))).toBe(true)
  memory.close()
})

it('requests that do not repeat take at most a quarter of the bytes, however many ids they have', async () => {
  const memory = createMemory()
  const before = usedBytes()
  for (let number = 0; number < 400; number += 1) {
    const ids = Array.from({ length: 400 }, (_, index) => `usr_of_a_request_${number}_${index}`)
    await request(memory, 'ten_1', { ids }, () => ({}))
    await request(memory, 'ten_1', { ids: ['x'.repeat(16_000 + number)] }, () => ({}))
  }
  expect(await memory.countedBytes()).toBeLessThanOrEqual(maxBytes / 4)
  expect(usedBytes() - before).toBeLessThan(maxBytes / 4)
  memory.close()
})
