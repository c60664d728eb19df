/** Whether PostgreSQL can store the text unchanged: it has no NUL and no unpaired surrogate. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

const firstTime = Date.parse('0001-01-01T00:00:00.000Z')
/** The last time that can be stored, in milliseconds. */
export const lastTime = Date.parse('9999-12-31T23:59:59.999Z')

/** Whether both RFC 3339 and PostgreSQL can write the time: it is in the years 1 to 9999. */
export function isStorableTime(time: Date): boolean {
  return time.getTime() >= firstTime && time.getTime() <= lastTime
}
