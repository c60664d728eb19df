import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLNamedType,
  getNamedType,
  getOperationAST,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import { isNode } from './price.ts'
import { schema } from './schema.ts'

/** The parts of an answer that hold objects, by the key they stand under. */
interface Part {
  isNode: boolean
  readonly within: Map<string, Part>
}

const parts = new WeakMap<OperationDefinitionNode, Part>()

/**
 * How many nodes an answer holds: what the operation has cost in the end.
 *
 * @param data of the answer
 */
export function countNodes(document: DocumentNode, operationName: string | null | undefined, data: unknown): number {
  const operation = getOperationAST(document, operationName)
  if (!operation) return 0
  const whole = parts.get(operation) ?? readParts(document, operation)
  parts.set(operation, whole)
  return count(whole, data)
}

function count(part: Part, value: unknown): number {
  if (value === null || value === undefined) return 0
  if (Array.isArray(value)) {
    let nodes = 0
    for (const item of value) nodes += count(part, item)
    return nodes
  }
  let nodes = part.isNode ? 1 : 0
  for (const [key, within] of part.within) nodes += count(within, (value as Record<string, unknown>)[key])
  return nodes
}

function readParts({ definitions }: DocumentNode, { operation, selectionSet }: OperationDefinitionNode): Part {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const one of definitions) if (one.kind === Kind.FRAGMENT_DEFINITION) fragments.set(one.name.value, one)

  /** @param seen the fragments that were read into this part already */
  function read(
    part: Part,
    type: GraphQLNamedType | undefined,
    { selections }: SelectionSetNode,
    seen = new Set<string>(),
  ): void {
    for (const selection of selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        const on = selection.typeCondition ? schema.getType(selection.typeCondition.name.value) : type
        read(part, on, selection.selectionSet, seen)
      } else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const name = selection.name.value
        const fragment = fragments.get(name)
        if (!fragment || seen.has(name)) continue
        seen.add(name)
        read(part, schema.getType(fragment.typeCondition.name.value), fragment.selectionSet, seen)
      } else if (selection.selectionSet && (isObjectType(type) || isInterfaceType(type))) {
        const field = type.getFields()[selection.name.value]
        if (!field) continue
        const key = selection.alias?.value ?? selection.name.value
        const within = part.within.get(key) ?? { isNode: false, within: new Map() }
        part.within.set(key, within)
        const inner = getNamedType(field.type)
        within.isNode ||= isNode(inner)
        read(within, inner, selection.selectionSet)
      }
    }
  }

  const whole: Part = { isNode: false, within: new Map() }
  read(whole, schema.getRootType(operation) ?? undefined, selectionSet)
  return whole
}
