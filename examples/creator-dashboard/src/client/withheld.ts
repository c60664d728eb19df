import type { CombinedError } from 'urql'

/**
 * The fields that the token may not read: `['emails']`. Such a field is null in each row, and the gateway sends a FORBIDDEN error with the
 * path to each, up to 2,000 of an operation.
 */
export function withheldFields(error: CombinedError | undefined): ReadonlySet<string> {
  const forbidden = error?.graphQLErrors.filter(({ extensions }) => extensions?.['code'] === 'FORBIDDEN') ?? []
  return new Set(forbidden.map(({ path }) => String(path?.at(-1))))
}
