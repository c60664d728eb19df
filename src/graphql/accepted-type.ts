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
