import { GraphQLError } from 'graphql'

/** What to do without the directives of incremental delivery, which other servers know. */
const advice: Record<string, string> = {
  'Unknown directive "@defer".':
    'The directive @defer is not supported: an answer is sent at once. Request the deferred fields in another operation.',
  'Unknown directive "@stream".':
    'The directive @stream is not supported: an answer is sent at once. Request the list in pages, with first and after.',
}

/** An error of the validation, which says what to do without a directive that is not supported. */
export function explainDirective(error: GraphQLError): GraphQLError {
  const message = advice[error.message]
  return message === undefined ? error : new GraphQLError(message, { nodes: error.nodes ?? null })
}
