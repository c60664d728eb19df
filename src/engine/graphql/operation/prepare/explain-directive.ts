import { GraphQLError } from 'graphql'

/** Advice for clients that send the directives of incremental delivery, which other servers support. */
const advice: Record<string, string> = {
  'Unknown directive "@defer".':
    'The directive @defer is not supported: a response is sent in one piece. Request the deferred fields in another operation.',
  'Unknown directive "@stream".':
    'The directive @stream is not supported: a response is sent in one piece. Request the list in pages, with first and after.',
}

/** A validation error. For a directive that is not supported, it says what to do instead. */
export function explainDirective(error: GraphQLError): GraphQLError {
  const message = advice[error.message]
  return message === undefined ? error : new GraphQLError(message, { nodes: error.nodes ?? null })
}
