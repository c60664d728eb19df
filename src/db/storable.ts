/** Whether PostgreSQL can hold the text as it is: no NUL, no half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

const firstTime = Date.parse('0001-01-01T00:00:00.000Z')
const lastTime = Date.parse('9999-12-31T23:59:59.999Z')

/** Whether the time is one that RFC 3339 and PostgreSQL can both write: years 1 to 9999. */
export function isStorableTime(time: Date): boolean {
  return time.getTime() >= firstTime && time.getTime() <= lastTime
}
