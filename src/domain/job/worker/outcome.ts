import { toStorableText } from '@fusion-gateway/sql'
import { maxCodeLength, maxMessageLength } from '../job.input.ts'
import type { Failure } from '../store/transitions.ts'

// Handlers are the code of others: they throw and return anything. What they give always becomes a value that can be
// stored, within the bounds of the API. Otherwise the end of the attempt could not be recorded, and the job would run
// again when its lease ends.

export function failureOf(error: unknown): Failure {
  const { name, message, code, retryAfterSeconds } = readThrown(error)
  const word = [code, name].find((value) => isFilled(value)) ?? 'Error'
  const text = isFilled(message) ? message : 'The handler threw a value without a message'
  return {
    code: toStorableText(word, maxCodeLength),
    message: toStorableText(text, maxMessageLength),
    isRetryable: name !== 'PermanentError',
    ...(typeof retryAfterSeconds === 'number' && { retryAfterSeconds }),
  }
}

/** The message of a report of progress. It is null if there is none, or if it is neither a text nor a number. */
export function progressMessageOf(message: unknown): string | null {
  const text = typeof message === 'number' ? String(message) : message
  return isFilled(text) ? toStorableText(text, maxMessageLength) : null
}

export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/**
 * The properties of a thrown value that say why an attempt failed. Handlers throw anything, and getters and proxies
 * throw, too.
 */
export function readThrown(thrown: unknown): Readonly<Record<string, unknown>> {
  try {
    if (typeof thrown === 'string') return { message: thrown }
    const { name, message, code, retryAfterSeconds } = Object(thrown)
    return { name, message, code, retryAfterSeconds }
  } catch {
    return {}
  }
}
