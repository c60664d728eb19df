/** The deepest JSON object that a row stores: phone numbers, addresses, payloads, results. */
const maxStoredDepth = 64

/** The deepest request: a stored object and some levels around it. */
const maxRequestDepth = 100

/** Whether a JSON object is shallow enough to be stored and read by recursive code. */
export function isShallow(value: unknown): boolean {
  return isNestedWithin(maxStoredDepth, value)
}

/** The most values of a request: texts, numbers, objects, lists and so on, at all depths. */
const maxRequestValues = 20_000

/**
 * The limit that the JSON of a request exceeds: it is too deep for recursive code, or has so many values that reading
 * it takes long.
 */
export function excessOf(value: unknown): string | undefined {
  let left = maxRequestValues
  const isWithin = (depth: number, inner: unknown): boolean => {
    left -= 1
    return left >= 0 && depth > 0 && everyValue(inner, (next) => isWithin(depth - 1, next))
  }
  if (isWithin(maxRequestDepth, value)) return undefined
  return left < 0 ? `has more than ${maxRequestValues} values` : 'is nested too deep'
}

/** Whether an object, or one in it, has a key `__proto__`. */
export function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoKey)
}

/** The recursion ends at the maximum depth. */
function isNestedWithin(maxDepth: number, value: unknown): boolean {
  return everyValue(value, (inner) => maxDepth > 0 && isNestedWithin(maxDepth - 1, inner))
}

/** Whether a condition holds for each value of an object or a list. Anything else has none. */
function everyValue(value: unknown, condition: (value: unknown) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(condition)
  // Object.values would copy the values of large objects.
  for (const key in value) if (!condition((value as Record<string, unknown>)[key])) return false
  return true
}
