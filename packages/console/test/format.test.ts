import { describe, expect, it } from 'vitest'
import { formatDuration, formatTime } from '../src/files/format.ts'

describe('the console', () => {
  it('shows the time of a moment of this year, and the year of another', () => {
    const now = new Date('2026-06-01T00:00:00Z')
    expect(formatTime('2026-01-31T20:00:00Z', now)).toBe('1 Feb, 01:30')
    expect(formatTime('2025-06-01T00:00:00Z', now)).toBe('1 Jun 2025')
    expect(formatTime('2027-01-01T00:00:00Z', now)).toBe('1 Jan 2027')
  })

  it.each([
    [340.4, '340 ms'],
    [12_000, '12 s'],
    [185_000, '3 min 5 s'],
    [7_800_000, '2 h 10 min'],
  ])('shows %d milliseconds as %s', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text)
  })
})
