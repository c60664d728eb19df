/** A moment that a text of ISO 8601 names. */
export interface Moment {
  /** Seconds since 1970. */
  readonly second: number
  /** The digits after the point, without zeros at the end. */
  readonly fraction: string
}

const format =
  /^(\d{4}-\d{2}-\d{2}|\d{8})[Tt ](\d{2}):?(\d{2})(?::?(\d{2}))?(?:[.,](\d{1,20}))?\s?(Z|z|[+-]\d{2}(?::?\d{2})?)$/

/**
 * Reads the moment that a text names, in any of the forms of ISO 8601 that services send: `2024-01-01T00:00:00Z`,
 * `2024-01-01T01:00:00.000+01:00`, `2024-01-01 00:00:00+00`.
 *
 * @returns undefined if the text is no time with an offset, or that time does not exist
 */
export function readMoment(text: string): Moment | undefined {
  // Most texts are no times, and an expression on each would be slow.
  if (text.length < 14 || text.length > 60 || !(text.charCodeAt(0) >= 48 && text.charCodeAt(0) <= 57)) return undefined
  const [, day = '', hour, minute, second = '00', digits = '', offset = ''] = format.exec(text) ?? []
  if (hour === undefined) return undefined
  const date = day.includes('-') ? day : `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`
  const milliseconds = Date.parse(`${date}T${hour}:${minute}:${second}${offsetOf(offset)}`)
  // JavaScript reads February 30 as March 1.
  if (Number.isNaN(milliseconds) || new Date(date).toISOString().slice(0, 10) !== date) return undefined
  return { second: milliseconds / 1_000, fraction: digits.replace(/0+$/, '') }
}

/** `+0130` ⇒ `+01:30` */
function offsetOf(text: string): string {
  if (/^z$/i.test(text)) return 'Z'
  return `${text.slice(0, 3)}:${text.slice(3).replace(':', '') || '00'}`
}
