/** The deepest JSON object that a row stores: phone numbers, addresses, payloads, results. */
const maxStoredDepth = 64

/** The deepest request: a stored object and some levels around it. */
const maxRequestDepth = 100

/** Whether a JSON object is shallow enough to be stored and read by recursive code. */
export function isShallow(value: unknown): boolean {
  return isNestedWithin(maxStoredDepth, value)
}

/** Whether a request is shallow enough to be read by recursive code. */
export function isShallowRequest(value: unknown): boolean {
  return isNestedWithin(maxRequestDepth, value)
}

/** Whether an object, or one in it, has a key `__proto__`. Prisma would drop it silently. */
export function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoKey)
}

/** Checks level by level, without recursion. */
function isNestedWithin(maxDepth: number, value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return false
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
  }
  return true
}
