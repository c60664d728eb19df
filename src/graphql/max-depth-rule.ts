import { GraphQLError, Kind, type SelectionSetNode, type ValidationContext, type ValidationRule } from 'graphql'

const maxDepth = 12

/**
 * Refuses operations whose fields are nested too deep: back edges multiply rows with every level. Introspection is not
 * counted, since it is deep by nature and costs nothing.
 */
export const maxDepthRule: ValidationRule = (context) => {
  // Of each fragment once: fragments that each name the next one twice would be looked at ever more often.
  const depths = new Map<string, number>()
  return {
    OperationDefinition(operation) {
      if (depthOf(context, operation.selectionSet, depths) > maxDepth) {
        const message = `The query is nested more than ${maxDepth} fields deep.`
        context.reportError(new GraphQLError(message, { nodes: operation }))
      }
    },
  }
}

function depthOf(context: ValidationContext, { selections }: SelectionSetNode, depths: Map<string, number>): number {
  let deepest = 0
  for (const selection of selections) {
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      deepest = Math.max(deepest, depthOfFragment(context, selection.name.value, depths))
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      deepest = Math.max(deepest, depthOf(context, selection.selectionSet, depths))
    } else if (!selection.name.value.startsWith('__')) {
      deepest = Math.max(deepest, 1 + (selection.selectionSet ? depthOf(context, selection.selectionSet, depths) : 0))
    }
  }
  return deepest
}

function depthOfFragment(context: ValidationContext, name: string, depths: Map<string, number>): number {
  const known = depths.get(name)
  if (known !== undefined) return known
  // A fragment within itself is another rule's to refuse.
  depths.set(name, 0)
  const fragment = context.getFragment(name)
  const depth = fragment ? depthOf(context, fragment.selectionSet, depths) : 0
  depths.set(name, depth)
  return depth
}
