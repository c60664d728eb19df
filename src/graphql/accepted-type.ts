import type { ExecutionResult } from 'graphql'
import { GatewayError } from '../errors.ts'

/** The two media types that a GraphQL answer comes in. */
export type AnswerType = 'application/json' | 'application/graphql-response+json'

/**
 * The media type of the answer, where the header `accept` says it plainly: by its first entry.
 *
 * @returns undefined when Yoga is to negotiate
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Legacy-Watershed
 */
export function acceptedType(accept = '*/*'): AnswerType | undefined {
  if (accept.includes('charset')) return undefined
  switch (accept.split(/[,;]/, 1)[0]?.trim()) {
    case '*/*':
    case 'application/json':
      return 'application/json'
    case 'application/graphql-response+json':
      return 'application/graphql-response+json'
    default:
      return undefined
  }
}

/**
 * The status of a result. Without data nothing was run, which the newer media type says by its status too.
 *
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes
 */
export function statusOf(result: ExecutionResult, type: AnswerType): number {
  return 'data' in result || type === 'application/json' ? 200 : 400
}

const answerTypes = ['application/json', 'application/graphql-response+json', 'text/event-stream', 'multipart/mixed']

/**
 * Refuses a request whose answer its client could not take, before anything is done: it would try again what was done.
 *
 * @throws GatewayError NOT_ACCEPTABLE
 */
export function requireAcceptable(accept = '*/*'): void {
  const wanted = accept.split(',').map((entry) => entry.split(';', 1)[0]?.trim().toLowerCase() ?? '')
  const isTaken = (entry: string) =>
    entry === '' ||
    entry === '*/*' ||
    answerTypes.some((type) => type === entry || type.replace(/\/.*/, '/*') === entry)
  if (!wanted.some(isTaken)) throw new GatewayError('NOT_ACCEPTABLE', `Accept one of ${answerTypes.join(', ')}.`)
}
