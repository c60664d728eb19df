import { ownValue } from '@fusion-gateway/base'
import { isIncluded, readSelection } from '@fusion-gateway/pothos-trees'
import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  parse,
  SingleFieldSubscriptionsRule,
  specifiedRules,
  type ValidationContext,
  ValuesOfCorrectTypeRule,
  validate,
  visitInParallel,
} from 'graphql'
import { checkDocumentSize, DocumentError, operationBoundsRule } from './bounds.ts'

export interface ReadDocument {
  /** The number of its tokens. */
  readonly size: number
  /** Undefined if the document has a syntax error. */
  readonly document?: DocumentNode
  readonly errors: readonly GraphQLError[]
}

/** @param introspection whether the document may introspect the schema */
export function createDocumentReader(schema: GraphQLSchema, introspection: boolean): (text: string) => ReadDocument {
  const rules = [
    ...specifiedRules.filter((rule) => rule !== SingleFieldSubscriptionsRule && rule !== ValuesOfCorrectTypeRule),
    literalsRule,
    operationBoundsRule,
    ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
  ]
  const options = { hideSuggestions: !introspection }

  return (text) => {
    try {
      const size = checkDocumentSize(text)
      const document = parse(text)
      const errors = validate(schema, document, rules, options)
      return {
        size,
        document,
        errors: errors.length > 0 ? errors.map(explainDirective) : subscriptionErrors(schema, document),
      }
    } catch (error) {
      if (error instanceof GraphQLError) return { size: 0, errors: [error] }
      throw error
    }
  }
}

/**
 * The errors of subscriptions of a document that is valid otherwise: each selects a field, and the same one whatever its
 * variables are. The rule of graphql-js reads `@skip` and `@include` as if all variables were absent, and accepts a
 * subscription without a field, with which its executor fails.
 */
function subscriptionErrors(schema: GraphQLSchema, document: DocumentNode): readonly GraphQLError[] {
  const subscriptions = document.definitions.flatMap((nodes) =>
    nodes.kind === Kind.OPERATION_DEFINITION && nodes.operation === OperationTypeNode.SUBSCRIPTION
      ? [{ nodes, fields: readSelection(schema, document, nodes).fields }]
      : [],
  )
  const onVariable = subscriptions.filter(({ fields }) =>
    fields.some(({ conditions }) => conditions.some(({ variable }) => variable !== undefined)),
  )
  if (onVariable.length > 0) return onVariable.map(({ nodes }) => new DocumentError(variableDecides, { nodes }))
  const errors = validate(schema, document, [SingleFieldSubscriptionsRule])
  if (errors.length > 0) return errors
  const empty = subscriptions.filter(({ fields }) => !fields.some(({ conditions }) => isIncluded(conditions, {})))
  return empty.map(({ nodes }) => new DocumentError(noField, { nodes }))
}

const variableDecides =
  'Whether a subscription selects its field must not depend on a variable: remove @skip and @include from it.'
const noField = 'The subscription selects no field: @skip or @include leaves it out.'

/** What to do without the directives of incremental delivery, which other servers know. */
const advice: Record<string, string> = {
  'Unknown directive "@defer".':
    'The directive @defer is not supported: a response is sent in one piece. Request the deferred fields in another operation.',
  'Unknown directive "@stream".':
    'The directive @stream is not supported: a response is sent in one piece. Request the list in pages, with first and after.',
}

/** An error of the validation, which says what to do without a directive that is not supported. */
function explainDirective(error: GraphQLError): GraphQLError {
  const message = ownValue(advice, error.message)
  return message === undefined ? error : new DocumentError(message, { nodes: error.nodes ?? null })
}

/**
 * The rule of graphql-js for the values in a document. It also says where a value stands that a scalar rejects, and
 * names its argument: `Argument "filter.createdAfter" got an invalid value; DateTime cannot represent …`. Many scalars
 * say neither.
 */
function literalsRule(context: ValidationContext): ASTVisitor {
  const names: string[] = []
  let value: GraphQLError['nodes']

  const tracker: ASTVisitor = {
    VariableDefinition: {
      enter: ({ variable }) => void names.push(`$${variable.name.value}`),
      leave: () => void names.pop(),
    },
    Argument: { enter: ({ name }) => void names.push(name.value), leave: () => void names.pop() },
    ObjectField: { enter: ({ name }) => void names.push(name.value), leave: () => void names.pop() },
    enter(node) {
      if (node.kind.endsWith('Value')) value = [node]
    },
  }
  const reportError = (error: GraphQLError) => {
    const [name = ''] = names
    const subject = name.startsWith('$') ? 'Variable' : 'Argument'
    const message = `${subject} "${names.join('.')}" got an invalid value; ${error.message}`
    context.reportError(isOfScalar(error) ? new GraphQLError(message, { nodes: error.nodes ?? value ?? null }) : error)
  }
  return visitInParallel([
    tracker,
    ValuesOfCorrectTypeRule(Object.create(context, { reportError: { value: reportError } })),
  ])
}

/** Whether a scalar has rejected the value. The errors of the rule itself say all this. */
function isOfScalar({ message, originalError }: GraphQLError): boolean {
  return originalError !== undefined || !/^(Expected value of type|Field|Enum|Value) /.test(message)
}
