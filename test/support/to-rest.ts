/** The fields whose values are JSON objects of clients, which are the same in both. */
const objects = ['payload', 'result', 'phone_numbers', 'addresses']

/** Converts a GraphQL response to REST by the four rules in which they differ, independent of the code under test. */
export function toRest(key: string, value: unknown): unknown {
  if (objects.includes(key)) return value
  if (Array.isArray(value)) return value.map((item) => toRest('', item))
  if (key === 'date_of_birth' && typeof value === 'string') return value.replaceAll('-', ':')
  if (key === 'status' && typeof value === 'string') return value.toLowerCase()
  if (typeof value !== 'object' || value === null) return value
  const isTriedAgain = 'error' in value && 'status' in value && value.status !== 'FAILED'
  const kept = Object.entries(value).filter(
    ([name, item]) => (item !== null || name === 'phone') && !(isTriedAgain && name === 'error'),
  )
  return Object.fromEntries(kept.map(([name, item]) => [name, toRest(name, item)]))
}
