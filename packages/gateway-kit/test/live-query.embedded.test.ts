import { setImmediate } from 'node:timers/promises'
import { GatewayError } from '@fusion-gateway/base'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Evaluation, LiveQuery } from '../src/live/live-query.ts'
import { Interruption } from '../src/subscription-values.ts'

interface Read {
  readonly payerId: string
  /** @param rest how long its payer pays for no other read, in milliseconds */
  end(value: number, rest?: number): void
  fail(error: Error): void
}

type Follower = { readonly payerId: string; wake(): void }

/** Longer than a patch. */
const unchanged = { text: 'unchanged '.repeat(20) }

/** A query whose reads end when the test says so, and those who follow it, each at the cost of a key. */
function start(...payerIds: readonly string[]) {
  return startWith(0, payerIds)
}

/** @param throttle the least time between two results, in milliseconds */
function startWith(throttle: number, payerIds: readonly string[]) {
  const reads: Read[] = []
  const evaluate = ({ payerId }: Follower) =>
    new Promise<Evaluation>((resolve, reject) => {
      const end = (value: number, rest = 0) =>
        resolve({ result: { data: { value, ...unchanged } }, isLast: false, rest })
      reads.push({ payerId, end, fail: reject })
    })
  const query = new LiveQuery<Follower>(throttle, evaluate, () => undefined)
  function follow(payerId: string): void {
    const follower = { payerId, wake: () => undefined }
    query.followers.add(follower)
    query.start(follower)
    ends.push(() => query.remove(follower))
  }
  for (const payerId of payerIds) follow(payerId)
  /** The next read, when it has begun. */
  const nextRead = () => vi.waitUntil(() => reads.shift(), { timeout: 5_000, interval: 1 })
  const untilShown = (value: number) =>
    vi.waitUntil(() => query.version?.result.data?.['value'] === value, { timeout: 5_000, interval: 1 })
  return { query, follow, reads, nextRead, untilShown }
}

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

describe('a live query is read again', () => {
  it('if something has changed while it was read', async () => {
    const { query, nextRead, untilShown } = start('key')
    const first = await nextRead()
    // The first read has seen what was there before.
    query.outdate()
    first.end(1)
    await untilShown(1)
    const second = await nextRead()
    second.end(2)
    await untilShown(2)
  })

  it('if a row was deleted between two statements of a read, and ends if that fails as well', async () => {
    const { query, nextRead, untilShown } = start('key')
    for (const value of [1, 2]) {
      query.outdate()
      const interrupted = await nextRead()
      interrupted.fail(new Interruption('A row was deleted'))
      const next = await nextRead()
      next.end(value)
      await untilShown(value)
    }
    query.outdate()
    for (const message of ['The database is away', 'It still is']) {
      expect(query.failure).toBeUndefined()
      const read = await nextRead()
      read.fail(new Interruption(message))
    }
    await vi.waitUntil(() => query.failure, { timeout: 5_000, interval: 1 })
    expect(query.failure?.error).toMatchObject({ message: 'It still is' })
  })

  it('at once for who begins to follow it after a change, at its cost, and for others when they may have a result', async () => {
    const { query, follow, reads, nextRead, untilShown } = startWith(60_000, ['first'])
    const first = await nextRead()
    first.end(1)
    await untilShown(1)
    follow('sees the first result')
    query.outdate()
    await setImmediate()
    expect(reads).toEqual([])
    follow('newcomer')
    const second = await nextRead()
    expect(second.payerId).toBe('newcomer')
    second.end(2)
    await untilShown(2)
    query.outdate()
    await setImmediate()
    expect(reads).toEqual([])
  })

  it('and keeps its version, with the patch and the payer, if the result is the same', async () => {
    const { query, nextRead, untilShown } = start('a', 'b')
    for (const value of [1, 2]) {
      query.outdate()
      const read = await nextRead()
      read.end(value)
      await untilShown(value)
    }
    const { version } = query
    query.outdate()
    const read = await nextRead()
    const { ended } = query
    read.end(2)
    await vi.waitUntil(() => query.ended > ended, { timeout: 5_000, interval: 1 })
    expect(query.version).toBe(version)
  })

  it('not after an error that repeats', async () => {
    const { query, nextRead } = start('key')
    const read = await nextRead()
    read.fail(new GatewayError('FORBIDDEN', 'Not with this key'))
    await vi.waitUntil(() => query.failure, { timeout: 5_000, interval: 1 })
    expect(query.begun).toBe(1)
  })

  it('at the cost of another key, if one has no points left', async () => {
    const { query, follow, nextRead, untilShown } = start('a', 'b')
    const empty = (seconds: number) =>
      new GatewayError('RATE_LIMITED', 'Empty.', { headers: { 'retry-after': String(seconds) } })
    const nextPayer = async (end: (read: Read) => void) => {
      const read = await nextRead()
      end(read)
      return read.payerId
    }
    // Nobody has got a result yet.
    expect(await nextPayer((read) => read.fail(empty(1_000)))).toBe('a')
    expect(await nextPayer((read) => read.end(1))).toBe('b')
    await untilShown(1)
    // Now the other one rests as well, for less long.
    query.outdate()
    const startedAt = performance.now()
    expect(await nextPayer((read) => read.end(2, 300))).toBe('b')
    await untilShown(2)
    query.outdate()
    expect(await nextPayer((read) => read.end(3))).toBe('b')
    expect(performance.now() - startedAt).toBeGreaterThan(290)
    await untilShown(3)
    // All rest, and the query with them, and then another key comes.
    query.outdate()
    expect(await nextPayer((read) => read.fail(empty(1_000)))).toBe('b')
    await setImmediate()
    follow('c')
    expect(await nextPayer((read) => read.end(4))).toBe('c')
    await untilShown(4)
    expect(query.failure).toBeUndefined()
  })

  it('not if no key has points for the first result', async () => {
    const { query, nextRead } = start('a', 'a')
    const read = await nextRead()
    read.fail(new GatewayError('RATE_LIMITED', 'Empty.', { headers: { 'retry-after': '60' } }))
    await vi.waitUntil(() => query.failure, { timeout: 5_000, interval: 1 })
    expect(query.begun).toBe(1)
  })
})
