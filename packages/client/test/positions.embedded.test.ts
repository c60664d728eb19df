import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createPositions } from '../src/positions.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const minutes = 60_000
const request = { query: 'subscription One', variables: { id: '1' } }

it('the first query that has a position says where subscriptions begin, and others need not ask', async () => {
  const positions = createPositions()
  const [failed, first, second] = [positions.ask(), positions.ask(), positions.ask()]
  const start = positions.follow(request).start()
  second?.settle('two')
  first?.settle('one')
  failed?.settle()
  expect(await start).toBe('one')
  expect(positions.ask()).toBeUndefined()
})

it('a tab that has followed nothing for long begins at present, or where it has read since', async () => {
  const positions = createPositions()
  positions.ask()?.settle('hours ago')
  vi.advanceTimersByTime(6 * minutes)
  expect(await positions.follow(request).start()).toBeUndefined()
  positions.ask()?.settle('now')
  expect(await positions.follow(request).start()).toBe('now')
})

it('a subscription continues after its own last event, while it runs, and for five minutes after', async () => {
  const positions = createPositions()
  positions.ask()?.settle('page')
  const followed = positions.follow(request)
  followed.moveTo('event')
  const other = { ...request, variables: { id: '2' } }
  expect([await positions.follow(request).start(), await positions.follow(other).start()]).toEqual(['event', 'page'])
  vi.advanceTimersByTime(30 * minutes)
  expect(await positions.follow(request).start()).toBe('event')
  const positionsOfOther = createPositions()
  const ended = positionsOfOther.follow(request)
  ended.moveTo('event')
  ended.end()
  vi.advanceTimersByTime(4 * minutes)
  expect(await positionsOfOther.follow(request).start()).toBe('event')
  const again = createPositions()
  const old = again.follow(request)
  old.moveTo('event')
  old.end()
  vi.advanceTimersByTime(6 * minutes)
  expect(await again.follow(request).start()).toBeUndefined()
})

it('another person begins anew', async () => {
  const positions = createPositions()
  positions.ask()?.settle('of the first')
  positions.follow(request).moveTo('of the first')
  positions.forget()
  expect(await positions.follow(request).start()).toBeUndefined()
})
