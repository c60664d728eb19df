import { GatewayError } from '../../errors.ts'

/** The longest response of a query, and the longest event of a subscription, in characters. */
export const maxResponseLength = 8 * 1024 * 1024

/** Responses from this length on, in characters, count as unread until the client has received them. */
export const longResponse = 256 * 1024

export const mebibyte = 1024 * 1024

/** The approximate length in a response of a value that is not a text, such as a number, or of the name of a field. */
const otherLength = 8

/**
 * Returns the approximate length of a response as JSON, in characters.
 *
 * @param max where it stops counting, because longer responses are rejected
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

/** @throws GatewayError TOO_EXPENSIVE if a response of this length would be too long */
export function requireResponseLength(length: number): void {
  if (length <= maxResponseLength) return
  throw new GatewayError('TOO_EXPENSIVE', 'The response would be longer than 8 MiB. Request fewer rows or fields.', {
    limit: 'response_length',
  })
}
