import { InvalidArgumentError } from 'commander'
import { isEventId } from '../domain/event/event.ts'

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (/^\d+$/.test(text) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`)
  }
}

/** `users:read, jobs:read` ⇒ `['users:read', 'jobs:read']` */
export function readList(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
}

export function readFilledText(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('It must not be empty.')
}

export function readNodes(text: string, before: readonly string[]): string[] {
  return [...before, readNode(text)]
}

export function readNode(text: string): string {
  if (/^[^\s:]+:\d{1,5}$/.test(text)) return text
  throw new InvalidArgumentError('Give a host and a port: node-1.internal:5432')
}

export function readUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new InvalidArgumentError('Give an http or https URL.')
}

const minute = 60_000

const units = { m: minute, h: 60 * minute, d: 24 * 60 * minute }

/** `30m` ⇒ half an hour, in milliseconds; undefined if the text is not a duration. */
function readDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * units[unit as keyof typeof units]
}

/** A duration, or 0. In milliseconds. */
export function readGrace(text: string): number {
  const duration = /^0+$/.test(text) ? 0 : readDuration(text)
  if (duration === undefined) throw new InvalidArgumentError('Give minutes (30m), hours (24h), days (7d), or 0.')
  return duration
}

export function readEventId(text: string): string {
  if (isEventId(text)) return text
  throw new InvalidArgumentError(
    'Give the id of an event (evt_ and 24 hexadecimal digits), as in the last line of an export.',
  )
}

/** `15m` ⇒ in fifteen minutes; otherwise a date or a time in ISO 8601. */
export function readExpiry(text: string): Date {
  const duration = readDuration(text)
  if (duration !== undefined) return new Date(Date.now() + duration)
  const [, date] = /^(\d{4}-\d{2}-\d{2})(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? []
  const time = new Date(text)
  // JavaScript reads 2027-02-30 as March 2.
  if (!date || Number.isNaN(time.getTime()) || new Date(date).toISOString().slice(0, 10) !== date) {
    throw new InvalidArgumentError(
      'Give a date (2027-01-31), a time (2027-01-31T08:00:00Z), or a time from now (15m, 12h, 90d).',
    )
  }
  return time
}
