import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  getOperationAST,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql'
import { defaultPageSize, maxPageSize } from './pagination.ts'
import { schema } from './schema.ts'

type Values = Readonly<Record<string, unknown>>

/** How many items a list of nodes is taken to have when nothing says how many. */
const defaultItems = 5

/** Of an operation whose price is always the same, that price. */
const constants = new WeakMap<OperationDefinitionNode, number>()

/**
 * What an operation of a valid document may cost, before it runs: a point for each node (user, account, profile, email,
 * job) that it may return, and one at least for each field of the root. A list counts as long as its arguments allow, or
 * as its field says (`extensions: { items }`), or as 5.
 *
 * @param variables as they came; what is wrong with them is somebody else's to say
 */
export function priceOf(
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Values = {},
): number {
  const operation = getOperationAST(document, operationName)
  if (!operation) return 1
  const known = constants.get(operation)
  if (known !== undefined) return known
  const pricing = new Pricing(document, operation, variables)
  const price = Math.max(1, pricing.ofOperation(operation))
  if (!pricing.dependsOnVariables) constants.set(operation, price)
  return price
}

class Pricing {
  dependsOnVariables = false
  private readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
  private readonly variables: Values
  /** A fragment that is used in many places is priced once, or a few of them could name millions of fields. */
  private readonly known = new Map<string, number>()

  constructor({ definitions }: DocumentNode, { variableDefinitions = [] }: OperationDefinitionNode, variables: Values) {
    this.fragments = new Map(
      definitions.flatMap((one) => (one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one]] : [])),
    )
    const defaults = variableDefinitions.map(({ variable, defaultValue }): [string, unknown] => [
      variable.name.value,
      defaultValue && valueFromASTUntyped(defaultValue),
    ])
    this.variables = { ...Object.fromEntries(defaults), ...variables }
  }

  ofOperation({ operation, selectionSet }: OperationDefinitionNode): number {
    const type = schema.getRootType(operation)
    return type ? this.ofSelection(type, selectionSet, undefined) : 0
  }

  /** @param page how many items the lists of a connection, or of a payload, may have */
  private ofSelection(type: GraphQLNamedType, { selections }: SelectionSetNode, page: number | undefined): number {
    let points = 0
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) points += this.ofField(type, selection, page)
      else if (selection.kind === Kind.FRAGMENT_SPREAD) points += this.ofFragment(selection.name.value, page)
      else {
        const on = selection.typeCondition ? schema.getType(selection.typeCondition.name.value) : type
        points += this.ofSelection(on ?? type, selection.selectionSet, page)
      }
    }
    return points
  }

  private ofFragment(name: string, page: number | undefined): number {
    const fragment = this.fragments.get(name)
    const type = fragment && schema.getType(fragment.typeCondition.name.value)
    if (!type) return 0
    const key = `${name} ${page}`
    const points = this.known.get(key) ?? this.ofSelection(type, fragment.selectionSet, page)
    this.known.set(key, points)
    return points
  }

  private ofField(parent: GraphQLNamedType, node: FieldNode, page: number | undefined): number {
    const { selectionSet, name } = node
    const hasFields = isObjectType(parent) || isInterfaceType(parent)
    const field = hasFields ? parent.getFields()[name.value] : undefined
    if (!selectionSet || !field) return 0
    const type = getNamedType(field.type)
    const own = this.pageOf(field, node)
    const inner = this.ofSelection(type, selectionSet, own)
    const isList = isListType(getNullableType(field.type))
    // A list that may be empty is no reason to ask for the world below it.
    const items = isList ? Math.max(1, this.itemsOf(field, node) ?? own ?? page ?? defaultItems) : 1
    const points = items * (inner + (isNode(type) ? 1 : 0))
    // A page is read whatever is shown of it, and each field of the root is a piece of work.
    return Math.max(points, own ?? 0, isRoot(parent) ? 1 : 0)
  }

  /** How many items the field's arguments ask for; undefined when it has no such argument. */
  private pageOf({ args }: GraphQLField<unknown, unknown>, node: FieldNode): number | undefined {
    const has = (name: string) => args.some((arg) => arg.name === name)
    if (has('first')) return asSize(this.argument(node, 'first') ?? this.argument(node, 'last') ?? defaultPageSize)
    const limit = has('input') ? (this.argument(node, 'input') as { limit?: unknown } | null | undefined)?.limit : null
    return limit == null ? undefined : asSize(limit)
  }

  /** How many items the field's own declaration says. */
  private itemsOf({ extensions }: GraphQLField<unknown, unknown>, node: FieldNode): number | undefined {
    const items = extensions['items'] as Items | undefined
    if (items === undefined || typeof items === 'number') return items
    const ids = this.argument(node, items.asManyAs)
    return Array.isArray(ids) ? ids.length : 1
  }

  private argument({ arguments: args = [] }: FieldNode, name: string): unknown {
    const value = args.find((arg) => arg.name.value === name)?.value
    if (!value) return undefined
    if (value.kind === Kind.VARIABLE || value.kind === Kind.LIST || value.kind === Kind.OBJECT) {
      this.dependsOnVariables = true
    }
    return valueFromASTUntyped(value, this.variables as Record<string, unknown>)
  }
}

/** How long a list is taken to be, declared with its field: so many items, or one for each entry of an argument. */
export type Items = number | { readonly asManyAs: string }

function asSize(value: unknown): number {
  return Number.isInteger(value) && Number(value) > 0 ? Math.min(Number(value), maxPageSize) : defaultPageSize
}

function isRoot(type: GraphQLNamedType): boolean {
  return [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].includes(type as never)
}

/** Whether objects of the type are nodes: what has an id of its own. */
export function isNode(type: GraphQLNamedType): boolean {
  return isObjectType(type) ? type.getInterfaces().some(({ name }) => name === 'Node') : type.name === 'Node'
}
