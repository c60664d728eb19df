import {
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from 'graphql'

const maxDepth = 12

/**
 * Refuses operations whose fields are nested too deep: back edges multiply rows with every level. Introspection is not
 * counted, since it is deep by nature and costs nothing.
 */
export const maxDepthRule: ValidationRule = (context) => ({
  OperationDefinition(operation) {
    if (isDeeper(context, operation.selectionSet, maxDepth, new Set())) {
      const message = `The query is nested more than ${maxDepth} fields deep.`
      context.reportError(new GraphQLError(message, { nodes: operation }))
    }
  },
})

/** Whether a selection has fields more than `levels` deep. A fragment within itself is another rule's to refuse. */
function isDeeper(
  context: ValidationContext,
  { selections }: SelectionSetNode,
  levels: number,
  within: ReadonlySet<FragmentDefinitionNode>,
): boolean {
  return selections.some((selection) => {
    if (selection.kind === Kind.FIELD) {
      if (selection.name.value.startsWith('__')) return false
      return (
        levels === 0 || (selection.selectionSet ? isDeeper(context, selection.selectionSet, levels - 1, within) : false)
      )
    }
    if (selection.kind === Kind.INLINE_FRAGMENT) return isDeeper(context, selection.selectionSet, levels, within)
    const fragment = context.getFragment(selection.name.value)
    if (!fragment || within.has(fragment)) return false
    return isDeeper(context, fragment.selectionSet, levels, new Set([...within, fragment]))
  })
}
