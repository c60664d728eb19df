import {
  type ASTNode,
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  parse,
  print,
  type SelectionNode,
  validate,
  visit,
} from 'graphql'
import type { Values } from '../generate/variables.ts'

/** A document, and the sets of values of its variables. */
export interface Operation {
  readonly text: string
  readonly sets: readonly Values[]
}

/** How many smaller cases are tried. */
const maxTries = 2_000

interface Shrinking<Case, Found> {
  /**
   * Runs a case. Returns what was found; undefined if nothing is wrong. The document must be one that the gateway has
   * not prepared.
   */
  readonly attempt: (smaller: Case, comment: string) => Promise<Found | undefined>
  /** The cases that are one step smaller than what was found, those that leave out most first. */
  readonly smaller: (found: Found) => Iterable<Case>
}

/**
 * Finds a small case with which something is still wrong, step by step.
 *
 * @returns undefined if nothing is wrong the next time
 */
export async function shrink<Case, Found>(
  first: Case,
  { attempt, smaller }: Shrinking<Case, Found>,
): Promise<Found | undefined> {
  let tries = 0
  const tryNext = (one: Case) => {
    tries += 1
    return attempt(one, ` # try ${tries}`)
  }
  let best = await tryNext(first)
  for (let isSmaller = best !== undefined; isSmaller && best; ) {
    isSmaller = false
    for (const one of smaller(best)) {
      if (tries >= maxTries) return best
      const found = await tryNext(one)
      if (!found) continue
      best = found
      isSmaller = true
      break
    }
  }
  return best
}

/**
 * The operations that are one step smaller: without a selection, a fragment, a directive, an argument, a part of a
 * value, a default, an alias, or what is no longer used.
 */
export function* smallerOperations(schema: GraphQLSchema, { text, sets }: Operation): Generator<Operation> {
  const document = parse(text, { noLocation: true })
  const known = new Set([text])
  for (const edit of edits(document)) {
    const smaller = withoutUnused(visit(document, { enter: (node) => edit(node) }))
    const printed = print(smaller)
    if (known.has(printed) || printed.length > text.length + 200 || validate(schema, smaller).length > 0) continue
    known.add(printed)
    yield { text: printed, sets: sets.map((values) => valuesIn(smaller, values)) }
  }
}

type Edit = (node: ASTNode) => ASTNode | null | undefined

/** Edits of a document. Each changes one node, the nodes near the root first. */
function edits(document: DocumentNode): Edit[] {
  const found: { depth: number; edit: Edit }[] = []
  const add = (target: ASTNode, depth: number, replacement: ASTNode | null) =>
    found.push({ depth, edit: (node) => (node === target ? replacement : undefined) })
  let depth = 0
  visit(document, {
    enter(node) {
      depth += 1
      switch (node.kind) {
        case Kind.SELECTION_SET:
          for (const one of node.selections) {
            const others = node.selections.filter((other) => other !== one)
            if (others.length > 1) add(node, depth - 0.5, { ...node, selections: [one] })
            if (others.length > 0) add(node, depth, { ...node, selections: others })
            const inlined = inlinedOf(document, one)
            if (inlined) {
              const selections = node.selections.flatMap((other) => (other === one ? inlined : [other]))
              add(node, depth + 1, { ...node, selections })
            }
          }
          break
        case Kind.DIRECTIVE:
        case Kind.ARGUMENT:
        case Kind.OBJECT_FIELD:
          add(node, depth, null)
          break
        case Kind.VARIABLE_DEFINITION:
          if (node.defaultValue) add(node, depth, { kind: node.kind, variable: node.variable, type: node.type })
          break
        case Kind.LIST:
          for (const one of node.values) add(node, depth, { ...node, values: node.values.filter((of) => of !== one) })
          break
        case Kind.FIELD:
          if (node.alias) add(node, depth + 100, withoutAlias(node))
          break
      }
    },
    leave() {
      depth -= 1
    },
  })
  return found.sort((one, other) => one.depth - other.depth).map(({ edit }) => edit)
}

function withoutAlias({ alias: _, ...field }: Extract<ASTNode, { kind: Kind.FIELD }>): ASTNode {
  return field
}

/** The selections within a fragment without directives. */
function inlinedOf({ definitions }: DocumentNode, selection: SelectionNode): readonly SelectionNode[] | undefined {
  if (selection.kind === Kind.FIELD || (selection.directives ?? []).length > 0) return undefined
  if (selection.kind === Kind.INLINE_FRAGMENT) return selection.selectionSet.selections
  for (const one of definitions) {
    if (one.kind !== Kind.FRAGMENT_DEFINITION || one.name.value !== selection.name.value) continue
    const { typeCondition, selectionSet } = one
    return [{ kind: Kind.INLINE_FRAGMENT, typeCondition, selectionSet }]
  }
  return undefined
}

/** Removes fragments and variables that nothing uses any longer. */
function withoutUnused(document: DocumentNode): DocumentNode {
  const spreads = new Set<string>()
  visit(document, { FragmentSpread: ({ name }) => void spreads.add(name.value) })
  const definitions = document.definitions.filter(
    (one) => one.kind !== Kind.FRAGMENT_DEFINITION || spreads.has(one.name.value),
  )
  if (definitions.length < document.definitions.length) return withoutUnused({ ...document, definitions })
  const used = new Set<string>()
  visit(document, { VariableDefinition: () => false, Variable: ({ name }) => void used.add(name.value) })
  return visit(document, {
    VariableDefinition: ({ variable }) => (used.has(variable.name.value) ? undefined : null),
  })
}

/** The values of the variables that a document still has. */
function valuesIn({ definitions }: DocumentNode, values: Readonly<Record<string, unknown>>) {
  const names = definitions.flatMap((one) =>
    one.kind === Kind.OPERATION_DEFINITION
      ? (one.variableDefinitions ?? []).map(({ variable }) => variable.name.value)
      : [],
  )
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)))
}
