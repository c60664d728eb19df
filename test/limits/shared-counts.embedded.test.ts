import { expect, it, vi } from 'vitest'
import { createRateLimit } from '../../src/engine/limits/rate-limit.ts'
import { createRecentWrites } from '../../src/engine/limits/recent-writes.ts'
import { createSharedCounts } from '../../src/engine/limits/shared-counts.ts'

const log = { error: () => undefined, warn: () => undefined }

it('processes with shared counts share the points of keys and of users', async () => {
  const counts = createSharedCounts()
  const [one, other] = [1, 2].map(() => createRateLimit(100, { log, pointsPerUser: 20, counts }))
  expect(await one?.spend({ keyId: 'key' }, 60)).toMatchObject({ points: 100, remaining: 40 })
  expect(await other?.spend({ keyId: 'key', userId: 'user' }, 15)).toMatchObject({ points: 20, remaining: 5 })
  await expect(one?.spend({ keyId: 'key', userId: 'user' }, 6)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  expect(await one?.charge({ keyId: 'key' }, 70)).toMatchObject({ remaining: 0 })
  await expect(other?.spend({ keyId: 'key' }, 0)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  expect(await other?.spend({ keyId: 'another' }, 1)).toMatchObject({ remaining: 99 })
})

it('processes with shared counts share that a key has written, for the maximum lag of a replica', async () => {
  const counts = createSharedCounts()
  const [one, other] = [1, 2].map(() => createRecentWrites(200, counts))
  expect(await other?.has('key')).toBe(false)
  await one?.note('key')
  expect([await one?.has('key'), await other?.has('key')]).toEqual([true, true])
  await vi.waitFor(async () => expect([await one?.has('key'), await other?.has('key')]).toEqual([false, false]))
})
