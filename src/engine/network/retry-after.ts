/**
 * Reads the header `retry-after`, which has seconds or a date.
 *
 * @returns how long to wait, in seconds; undefined if the header is absent or says neither
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function readRetryAfter(header: string | readonly string[] | null | undefined): number | undefined {
  if (typeof header !== 'string') return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}
