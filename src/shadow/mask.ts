/** The longest text of an example. */
const maxLength = 120

/** How many entries of a list or object an example shows. */
const maxEntries = 5

/**
 * What an example of the report shows of a value: `{"name":"Ada"}` ⇒ `{"name":"Aaa"}`. Masked, each letter is an `a` or
 * `A` and each digit a `9`, so that a form can be seen, and no value.
 *
 * @param value undefined if it is absent
 */
export function shownValue(value: unknown, isMasked: boolean): string {
  if (value === undefined) return 'absent'
  return cut(JSON.stringify(shorten(isMasked ? maskedValue : plainValue, value, 0)))
}

export function cut(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`
}

type Show = (value: unknown) => unknown

const plainValue: Show = (value) => (typeof value === 'bigint' ? String(value) : value)

const maskedValue: Show = (value) => {
  if (typeof value === 'string') return maskedText(value.slice(0, maxLength))
  if (typeof value === 'number' || typeof value === 'bigint') return maskedText(String(value))
  return value
}

export function maskedText(text: string): string {
  return text
    .replace(/\p{Lu}/gu, 'A')
    .replace(/(?!A)\p{L}/gu, 'a')
    .replace(/\p{N}/gu, '9')
}

function shorten(show: Show, value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return show(value)
  if (depth === 3) return '…'
  if (Array.isArray(value)) return value.slice(0, maxEntries).map((item) => shorten(show, item, depth + 1))
  const entries = Object.entries(value).slice(0, maxEntries)
  return Object.fromEntries(
    entries.map(([key, item]) => [/^[A-Za-z_][\w-]*$/.test(key) ? key : show(key), shorten(show, item, depth + 1)]),
  )
}
