/** Whether PostgreSQL can store the text unchanged: it has no NUL and no unpaired surrogate. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

const maxIdLength = 128

/**
 * Whether a row can have this id: 1–128 characters that PostgreSQL can store. Other ids are not found, and no statement
 * is sent for them.
 */
export function isPossibleId(id: string): boolean {
  return id.length > 0 && id.length <= maxIdLength && isStorableText(id)
}

/**
 * The text as PostgreSQL can store it, and at most `max` characters of it: U+FFFD replaces NUL and unpaired surrogates.
 * For texts of handlers and other programs, which must not prevent that what they belong to is stored.
 */
export function toStorableText(text: string, max: number): string {
  // A character has at most two code units. The rest of a long text is not read.
  const characters = [
    ...text
      .slice(0, 2 * max)
      .toWellFormed()
      .replaceAll('\0', '\ufffd'),
  ]
  return characters.slice(0, max).join('')
}

const firstTime = Date.parse('0001-01-01T00:00:00.000Z')
/** The last time that can be stored, in milliseconds. */
export const lastTime = Date.parse('9999-12-31T23:59:59.999Z')

/** Whether both RFC 3339 and PostgreSQL can write the time: it is in the years 1 to 9999. */
export function isStorableTime(time: Date): boolean {
  return time.getTime() >= firstTime && time.getTime() <= lastTime
}
