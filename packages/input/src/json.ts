import { isStorableText } from '@fusion-gateway/sql'

/** A text, or a number, of JSON. The text comes first, so that no number is found in one. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs

/** JSON without such a part has no number that this file is about, so that most JSON is not read twice. */
const suspicious = /\d{16}|\d[eE]\+?\d{2}/

/**
 * Finds a number that JavaScript cannot hold: a whole number beyond ±(2^53 − 1) would be rounded, and one beyond about
 * 1.8e308 would become infinite. Fractions are rounded to the nearest number of 64 bits, as by every reader of JSON.
 *
 * @param json valid JSON
 * @returns the number as it is written, shortened; undefined if there is none
 */
export function tooLargeNumberIn(json: string): string | undefined {
  if (!suspicious.test(json)) return undefined
  for (const [text] of json.matchAll(token)) if (!text.startsWith('"') && !isExact(text)) return text.slice(0, 40)
  return undefined
}

/** What is wrong with the numbers of JSON, after the name of what has them; undefined if nothing is. */
export function problemOfNumbers(json: string): string | undefined {
  const number = tooLargeNumberIn(json)
  return number && `has the number ${number}, which is too large: the largest is 9007199254740991. Send it as a text`
}

function isExact(number: string): boolean {
  const value = Number(number)
  return Number.isFinite(value) && (Number.isSafeInteger(value) || /[.eE]/.test(number))
}

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

/** Whether the database can store all texts of a value, and the keys of its objects, one by one. */
export function hasStorableTexts(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value)
  const keys = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  return keys.every(isStorableText) && everyValue(value, hasStorableTexts)
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
