// Objects whose names a caller chooses: variables, aliases, fields of JSON. `{}` has a `constructor` and a `toString`
// that nobody has sent, and an assignment to `__proto__` is lost. `npm run check -- names` finds the places that read or
// write such an object by themselves.

/** The value that an object itself has under a name: `ownValue({}, 'toString')` ⇒ `undefined`. */
export function ownValue<Value>(
  record: Readonly<Record<string, Value>> | null | undefined,
  name: string,
): Value | undefined
export function ownValue(record: object | null | undefined, name: string): unknown
export function ownValue(record: object | null | undefined, name: string): unknown {
  return record != null && Object.hasOwn(record, name) ? (record as Record<string, unknown>)[name] : undefined
}

/** An object with these entries and no prototype. */
export function recordOf<Value>(entries: Iterable<readonly [string, Value]>): Record<string, Value> {
  const record: Record<string, Value> = Object.create(null)
  for (const [name, value] of entries) record[name] = value
  return record
}

/** Whether a value is an object of JSON, and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
