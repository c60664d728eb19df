import { isNode } from './cost.ts'
import type { SelectedField } from './selection.ts'

/** The parts of a response that hold objects, by their keys. */
interface Part {
  isNode: boolean
  readonly parts: Map<string, Part>
}

/** Creates the function that counts the nodes in the data of an operation's response. */
export function createNodeCount(fields: readonly SelectedField[]): (data: unknown) => number {
  const root: Part = { isNode: false, parts: new Map() }
  addParts(root, fields)
  return (data) => count(root, data)
}

/** Fields with the same key share their place in the response. */
function addParts({ parts }: Part, fields: readonly SelectedField[]): void {
  for (const { key, node, type, selections } of fields) {
    if (!node.selectionSet) continue
    const part = parts.get(key) ?? { isNode: false, parts: new Map() }
    parts.set(key, part)
    part.isNode ||= isNode(type)
    addParts(part, selections)
  }
}

function count(part: Part, value: unknown): number {
  if (value === null || value === undefined) return 0
  if (Array.isArray(value)) {
    let nodes = 0
    for (const item of value) nodes += count(part, item)
    return nodes
  }
  let nodes = part.isNode ? 1 : 0
  for (const [key, inner] of part.parts) nodes += count(inner, (value as Record<string, unknown>)[key])
  return nodes
}
