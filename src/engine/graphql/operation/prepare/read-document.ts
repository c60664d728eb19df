import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  ValuesOfCorrectTypeRule,
  validate,
} from 'graphql'
import { own } from '../../../own.ts'
import { checkDocumentSize, operationBoundsRule } from './bounds.ts'
import { DocumentError } from './document-error.ts'
import { literalsRule } from './literals-rule.ts'

/** A document that was parsed and validated. */
export interface ReadDocument {
  /** The number of its tokens. */
  readonly size: number
  /** Undefined if the document has a syntax error. */
  readonly document?: DocumentNode
  readonly errors: readonly GraphQLError[]
}

/**
 * Returns a function that parses and validates a document.
 *
 * @param introspection whether the document may introspect the schema
 */
export function createDocumentReader(schema: GraphQLSchema, introspection: boolean): (text: string) => ReadDocument {
  const rules = [
    ...specifiedRules.map((rule) => (rule === ValuesOfCorrectTypeRule ? literalsRule : rule)),
    operationBoundsRule,
    ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
  ]
  const options = { hideSuggestions: !introspection }

  return (text) => {
    try {
      const size = checkDocumentSize(text)
      const document = parse(text)
      const errors = validate(schema, document, rules, options)
      return { size, document, errors: errors.map(explainDirective) }
    } catch (error) {
      if (error instanceof GraphQLError) return { size: 0, errors: [error] }
      throw error
    }
  }
}

/** What to do without the directives of incremental delivery, which other servers know. */
const advice: Record<string, string> = {
  'Unknown directive "@defer".':
    'The directive @defer is not supported: a response is sent in one piece. Request the deferred fields in another operation.',
  'Unknown directive "@stream".':
    'The directive @stream is not supported: a response is sent in one piece. Request the list in pages, with first and after.',
}

/** An error of the validation, which says what to do without a directive that is not supported. */
function explainDirective(error: GraphQLError): GraphQLError {
  const message = own(advice, error.message)
  return message === undefined ? error : new DocumentError(message, { nodes: error.nodes ?? null })
}
