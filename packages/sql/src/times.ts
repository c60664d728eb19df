// The texts of times.

/** `2026-01-31 08:00:00.5+00` ⇒ `2026-01-31T08:00:00.500Z`, as responses have it. Sessions have the time zone UTC. */
export function formatTime(text: string): string {
  requireShownYear(text)
  const fraction = text.slice('2026-01-31 08:00:00.'.length, -'+00'.length)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.padEnd(3, '0')}Z`
}

/**
 * Requires that a time or date of PostgreSQL is in the years 1 to 9999. Others, such as `infinity`, have no form in
 * responses and cursors. Only statements that bypass this gateway can store them.
 *
 * @throws Error
 */
export function requireShownYear(text: string): void {
  if (text[4] === '-' && !text.endsWith('BC')) return
  throw new Error(`The database has a time that is not in the years 1 to 9999: ${text}`)
}
