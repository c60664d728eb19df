import { GatewayError } from '../../errors.ts'

/** The longest answer of a query, and the longest event of a subscription, in characters. */
export const maxResponseLength = 8 * 1024 * 1024

/** Answers from this length on, in characters, count until the client has received them. */
export const longResponse = 256 * 1024

export const mebibyte = 1024 * 1024

/** What a value without text takes in an answer, about: a number, the name of a field. */
const otherLength = 8

/**
 * Returns about how many characters an answer has as JSON.
 *
 * @param max where it stops counting, because longer answers are rejected
 */
export function lengthOf(response: unknown, max = maxResponseLength): number {
  let length = 0

  function add(value: unknown): void {
    if (length > max) return
    length += typeof value === 'string' ? value.length : otherLength
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) for (const item of value) add(item)
    else for (const key in value) add((value as Record<string, unknown>)[key])
  }

  add(response)
  return length
}

/** @throws GatewayError TOO_EXPENSIVE if an answer of this length would be too long to write */
export function requireResponseLength(length: number): void {
  if (length <= maxResponseLength) return
  throw new GatewayError('TOO_EXPENSIVE', 'The answer would be longer than 8 MiB. Request fewer rows or fields.')
}
