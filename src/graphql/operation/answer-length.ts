import { GatewayError } from '../../errors.ts'

/** The longest answer of a query, and the longest event of a subscription, in characters. */
const maxAnswerLength = 8 * 1024 * 1024

/** @throws GatewayError TOO_EXPENSIVE if an answer would be too long to write */
export function requireAnswerLength(answer: unknown): void {
  if (!isLongerThan(maxAnswerLength, answer)) return
  throw new GatewayError('TOO_EXPENSIVE', 'The answer would be longer than 8 MiB. Request fewer rows or fields.')
}

/** What a value without text takes in an answer, about: a number, the name of a field. */
const otherLength = 8

/**
 * Whether the texts and values of an answer are longer than this many characters together, about. It stops looking when they
 * are, because writing such an answer would keep all other requests waiting.
 */
export function isLongerThan(max: number, answer: unknown): boolean {
  let left = max

  function take(value: unknown): void {
    if (left < 0) return
    left -= typeof value === 'string' ? value.length : otherLength
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) for (const item of value) take(item)
    else for (const key in value) take((value as Record<string, unknown>)[key])
  }

  take(answer)
  return left < 0
}
