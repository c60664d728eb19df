/** How deep the JSON objects may be nested that are kept as they come: phone numbers, addresses, payloads, results. */
const maxKeptDepth = 64

/** How deep a whole request may be nested: what is kept, and some levels around it. */
const maxRequestDepth = 100

/** Whether a JSON object that is to be kept is nested no deeper than every writer and reader of it can go. */
export function isShallow(value: unknown): boolean {
  return isNestedWithin(maxKeptDepth, value)
}

/** Whether a request is nested no deeper than what reads it, one call a level, can go. */
export function isShallowRequest(value: unknown): boolean {
  return isNestedWithin(maxRequestDepth, value)
}

/** Whether an object, or one in it, has a key `__proto__`: Prisma would leave it out without a word. */
export function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoKey)
}

/** Looks at the value level by level, without calling itself. */
function isNestedWithin(maxDepth: number, value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return false
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
  }
  return true
}
