import {
  type ASTVisitor,
  GraphQLError,
  type ValidationContext,
  ValuesOfCorrectTypeRule,
  visitInParallel,
} from 'graphql'

/**
 * The rule of graphql-js for the values in a document. It also says where a value stands that a scalar rejects, and
 * names its argument: `Argument "filter.createdAfter" got an invalid value; DateTime cannot represent …`. Many scalars
 * say neither.
 */
export function literalsRule(context: ValidationContext): ASTVisitor {
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
