import type { ExecutionResult } from 'graphql'

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
