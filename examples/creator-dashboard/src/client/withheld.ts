import type { CombinedError } from 'urql'

/**
 * The fields that the token may not read: `['emails']`. The gateway sends one FORBIDDEN error for each such field of the operation,
 * with the path to its first occurrence, and null for all of them.
 */
export function withheldFields(error: CombinedError | undefined): ReadonlySet<string> {
  const forbidden = error?.graphQLErrors.filter(({ extensions }) => extensions?.['code'] === 'FORBIDDEN') ?? []
  return new Set(forbidden.map(({ path }) => String(path?.at(-1))))
}
