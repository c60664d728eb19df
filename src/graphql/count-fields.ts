import { type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql'

/** Finds a fragment by its name. */
type FindFragment = (name: string) => FragmentDefinitionNode | null | undefined

/**
 * How many fields a selection has once its fragments are put in their places. Fragments that each name the next one many
 * times make millions of a few lines; each is counted once, so counting them takes no time.
 *
 * @param known what was counted already
 */
export function countFields(
  { selections }: SelectionSetNode,
  findFragment: FindFragment,
  known = new Map<string, number>(),
): number {
  let fields = 0
  for (const selection of selections) {
    if (selection.kind === Kind.FRAGMENT_SPREAD) fields += ofFragment(selection.name.value, findFragment, known)
    else {
      if (selection.kind === Kind.FIELD) fields += 1
      if (selection.selectionSet) fields += countFields(selection.selectionSet, findFragment, known)
    }
  }
  return fields
}

function ofFragment(name: string, findFragment: FindFragment, known: Map<string, number>): number {
  const counted = known.get(name)
  if (counted !== undefined) return counted
  // A fragment within itself is refused by a rule of its own.
  known.set(name, 0)
  const fragment = findFragment(name)
  const fields = fragment ? countFields(fragment.selectionSet, findFragment, known) : 0
  known.set(name, fields)
  return fields
}
