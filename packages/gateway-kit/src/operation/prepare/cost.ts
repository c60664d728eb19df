import { ownValue, recordOf } from '@fusion-gateway/base'
import {
  defaultPageSize,
  isIncluded,
  metadataOf,
  rowsOfParent,
  type SelectedField,
  type Selection,
  type Values,
} from '@fusion-gateway/pothos-trees'
import { maxPageSize } from '@fusion-gateway/prisma-trees'
import {
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  getNullableType,
  isListType,
  isObjectType,
  isUnionType,
  Kind,
  type OperationDefinitionNode,
  valueFromASTUntyped,
} from 'graphql'

/** The cost of selecting a JSON object of a node again, under another alias: a point for each KiB that it may have. */
const pointsOfRepetition = 256

/** The points of a field without those of the fields below it, by its path: `users.nodes.accounts`. */
type Share = readonly [path: string, points: number]

/**
 * Returns the functions that return the cost of an operation, and the fields that it consists of, the costliest first,
 * for its variables as the client sent them.
 *
 * The cost is a point for each node (user, account, profile, email, job) that the operation may return, at least one
 * for each root field, and what fields cost besides. A list has the length that its arguments allow, that its field
 * declares, or 5.
 */
export function createCost({ variableDefinitions = [] }: OperationDefinitionNode, { fields }: Selection) {
  const defaults = variableDefinitions.map(
    ({ variable, defaultValue }) => [variable.name.value, defaultValue && valueFromASTUntyped(defaultValue)] as const,
  )
  const calculationFor = (variables: Values, shares?: Map<string, number>) =>
    new CostCalculation(recordOf([...defaults, ...Object.entries(variables)]), shares)
  const calculate = (variables: Values, shares?: Map<string, number>) => {
    const calculation = calculationFor(variables, shares)
    return {
      cost: Math.max(1, calculation.ofFields(fields, { page: undefined, path: '', times: 1, depth: 0 })),
      isConstant: !calculation.readsVariables,
    }
  }
  const { cost, isConstant } = calculate({})
  let ofAll: readonly Part[] | undefined
  const partsOfAll = () => {
    ofAll ??= calculationFor({}).partsOf(fields, 0)
    return ofAll
  }
  return {
    costOf: isConstant ? () => cost : (variables: Values) => calculate(variables).cost,
    costliestFields(variables: Values): readonly Share[] {
      const shares = new Map<string, number>()
      calculate(variables, shares)
      return [...shares].sort(([, one], [, other]) => other - one)
    },
    /** JSON objects under several aliases are paid by the length of the response. */
    usedBy(variables: Values, data: unknown): number {
      const parts = isConstant ? partsOfAll() : calculationFor(variables).partsOf(fields, 0)
      return parts.reduce((sum, part) => sum + Math.max(1, pointsIn(part, data)), 0)
    },
  }
}

interface Place {
  /** The length of the lists of a connection or a payload. */
  readonly page: number | undefined
  /** The path of the fields; empty for root fields. */
  readonly path: string
  /** How often the response has them. */
  readonly times: number
  /** 0 for root fields. */
  readonly depth: number
}

class CostCalculation {
  readsVariables = false
  private readonly variables: Record<string, unknown>
  private readonly shares: Map<string, number> | undefined

  /** @param shares gets the points of each field. Without it, no paths are built */
  constructor(variables: Record<string, unknown>, shares: Map<string, number> | undefined) {
    this.variables = variables
    this.shares = shares
  }

  ofFields(selected: readonly SelectedField[], place: Place): number {
    const { path: parent, times, depth } = place
    const fields = this.responseFields(selected)
    let points = pointsOfRepetition * repetitionsOf(fields)
    this.share(parent, points * times)
    for (const field of fields) {
      const path = this.shares && parent !== '' ? `${parent}.${field.key}` : field.key
      const extra = this.extraOf(field, depth === 1)
      this.share(path, extra * times)
      points += extra
      if (field.node.selectionSet) points += this.ofField(field, { ...place, path })
    }
    return points
  }

  /** The fields that the response has: without those that the variables leave out, and each key of a type once. */
  private responseFields(fields: readonly SelectedField[]): readonly SelectedField[] {
    const merged = new Map<string, SelectedField>()
    for (const field of fields) {
      const { conditions, parent, key, selections } = field
      if (conditions.some(({ variable }) => variable !== undefined)) this.readsVariables = true
      if (!isIncluded(conditions, this.variables)) continue
      const name = `${parent.name}.${key}`
      const known = merged.get(name)
      merged.set(name, known ? { ...known, selections: [...known.selections, ...selections] } : field)
    }
    return [...merged.values()]
  }

  /** What the fields cost in the data of a response, by their keys. Those that cost nothing are left out. */
  partsOf(selected: readonly SelectedField[], depth: number): readonly Part[] {
    const byKey = Map.groupBy(this.responseFields(selected.filter(mayCost)), ({ key }) => key)
    return [...byKey].flatMap(([key, fields]): Part[] => {
      const parts = fields.map((field) => this.partOf(field, depth))
      const [first = noPart] = parts
      // Fields of several types share the key. An object has the type of one of them.
      const most = (pointsOf: (part: Part) => number) => Math.max(...parts.map(pointsOf))
      const part: Part =
        parts.length === 1
          ? first
          : {
              key,
              isNode: parts.some(({ isNode }) => isNode),
              extra: most(({ extra }) => extra),
              least: most(({ least }) => least),
              lists: [...new Set(parts.flatMap(({ lists }) => lists))],
              below: this.partsOf(
                fields.flatMap(({ selections }) => selections),
                depth + 1,
              ),
            }
      const { isNode, extra, least, lists, below } = part
      const costs = depth === 0 || isNode || extra > 0 || least > 0 || lists.length > 0 || below.length > 0
      return costs ? [part] : []
    })
  }

  private partOf(selected: SelectedField, depth: number): Part {
    const { key, field, node, type, selections } = selected
    const isList = isListType(getNullableType(field.type))
    const page = isList ? undefined : this.pageOf(field, node)
    // The data has the length of a page, unless nothing of its list is selected.
    const lists = page === undefined ? [] : this.responseFields(selections).filter(isListOfPage)
    const ids = isList && typeof metadataOf(field).cost?.length === 'object' ? (this.lengthOf(field, node) ?? 0) : 0
    return {
      key,
      isNode: node.selectionSet !== undefined && isNode(type),
      extra: this.extraOf(selected, depth === 1) + (depth === 0 ? 0 : this.pointsOfCursors(node, page)),
      least: lists.length > 0 ? 1 : Math.max(page === undefined ? 0 : 1, page ?? ids),
      lists: lists.map((one) => one.key),
      below: node.selectionSet ? this.partsOf(selections, depth + 1) : [],
    }
  }

  private share(path: string, points: number): void {
    if (points > 0) this.shares?.set(path, (this.shares.get(path) ?? 0) + points)
  }

  private extraOf({ field, node }: SelectedField, isOfRoot: boolean): number {
    const { extra } = metadataOf(field).cost ?? {}
    const names = node.arguments?.map(({ name }) => name.value) ?? []
    return extra?.(recordOf(names.map((name) => [name, this.argument(node, name)])), isOfRoot) ?? 0
  }

  /** @param place of the field itself, with its path */
  private ofField({ field, node, type, selections }: SelectedField, place: Place): number {
    const { path, times, depth } = place
    const ownPage = this.pageOf(field, node)
    const isList = isListType(getNullableType(field.type))
    // An empty list costs as much as one item: otherwise everything below it would be free.
    const length = isList ? Math.max(1, ownPage ?? this.lengthOf(field, node) ?? place.page ?? rowsOfParent) : 1
    // The items of a list are no connection: their lists have other lengths.
    const below = { page: isList ? undefined : ownPage, path, times: times * length, depth: depth + 1 }
    const inner = length * this.ofFields(selections, below)
    // A page is read whatever is selected of it, with one more row; and each root field is a piece of work.
    const page = ownPage === undefined ? 0 : Math.max(1, ownPage)
    const cursors = depth === 0 ? 0 : this.pointsOfCursors(node, ownPage)
    const points = Math.max(inner + (isNode(type) ? length : 0), page, depth === 0 ? 1 : 0) + cursors
    this.share(path, times * (points - inner))
    return points
  }

  /** The page size in the arguments of a field; undefined if it has no such argument. */
  private pageOf(field: GraphQLField<unknown, unknown>, node: FieldNode): number | undefined {
    if (field.args.some(({ name }) => name === 'first')) {
      const size = this.argument(node, 'first') ?? this.argument(node, 'last')
      // A nested list without `first` is as long as it is without arguments.
      if (size == null && isListType(getNullableType(field.type))) return undefined
      return toPageSize(size ?? defaultPageSize)
    }
    const [name, ...path] = metadataOf(field).cost?.page?.split('.') ?? []
    if (name === undefined) return undefined
    const outer = this.argument(node, name) as object | null | undefined
    const size = path.reduce<unknown>((value, key) => ownValue(value as object | null | undefined, key), outer)
    if (typeof size === 'object' && size !== null) return Math.max(1, Math.min([size].flat().length, maxPageSize))
    return size == null ? undefined : toPageSize(size)
  }

  /**
   * The points for the cursors of a page below another object. Each is a condition on the rows of each parent, and the
   * flag that says whether there are rows beyond it is another one.
   */
  private pointsOfCursors(node: FieldNode, page: number | undefined): number {
    if (page === undefined) return 0
    const cursors = ['after', 'before'].filter((name) => this.argument(node, name) != null)
    return 2 * rowsOfParent * cursors.length
  }

  private lengthOf(field: GraphQLField<unknown, unknown>, node: FieldNode): number | undefined {
    const { length } = metadataOf(field).cost ?? {}
    if (length === undefined || typeof length === 'number') return length
    const list = this.argument(node, length.asArgument)
    return Array.isArray(list) ? list.length : 1
  }

  private argument({ arguments: args = [] }: FieldNode, name: string): unknown {
    const value = args.find((arg) => arg.name.value === name)?.value
    if (!value) return undefined
    if (value.kind === Kind.VARIABLE || value.kind === Kind.LIST || value.kind === Kind.OBJECT) {
      this.readsVariables = true
    }
    return valueFromASTUntyped(value, this.variables)
  }
}

/** What a field costs in the data of a response. */
interface Part {
  readonly key: string
  readonly isNode: boolean
  /** The points besides nodes. */
  readonly extra: number
  /** The least that it costs besides those: the rows of a page of which the data has no list, the ids to look for. */
  readonly least: number
  /** The keys of the lists of a page. */
  readonly lists: readonly string[]
  readonly below: readonly Part[]
}

const noPart: Part = { key: '', isNode: false, extra: 0, least: 0, lists: [], below: [] }

/** Whether a field can cost something. Most are scalars, which do not. */
function mayCost({ node, field }: SelectedField): boolean {
  return node.selectionSet !== undefined || metadataOf(field).cost !== undefined
}

/** Whether a field of a connection, or of the payload of a mutation, has an item for each row of the page. */
function isListOfPage({ field }: SelectedField): boolean {
  return isListType(getNullableType(field.type)) && field.name !== 'userErrors'
}

/** What a field costs that an object has. Nothing has run for a field that is null. */
function pointsIn(part: Part, parent: unknown): number {
  const value = ownValue(parent as object | null | undefined, part.key)
  if (value === null || value === undefined) return 0
  const { extra, least, lists } = part
  const page = lists.reduce((longest, key) => {
    const list = ownValue(value, key)
    return Array.isArray(list) ? Math.max(longest, list.length) : longest
  }, least)
  return extra + Math.max(page, pointsOfValue(part, value))
}

function pointsOfValue(part: Part, value: unknown): number {
  if (Array.isArray(value)) {
    let points = 0
    // What was looked for, and not found, is null.
    for (const item of value) points += item === null && part.isNode ? 1 : pointsOfValue(part, item)
    return points
  }
  if (typeof value !== 'object' || value === null) return 0
  let points = part.isNode ? 1 : 0
  for (const below of part.below) points += pointsIn(below, value)
  return points
}

/** How many JSON objects are selected again, under another alias. */
function repetitionsOf(fields: readonly SelectedField[]): number {
  const objects = fields.filter(({ type }) => type.name === 'JSONObject')
  const keys = new Set(objects.map(({ key }) => key))
  const names = new Set(objects.map(({ field }) => field.name))
  return keys.size - names.size
}

function toPageSize(value: unknown): number {
  return Number.isInteger(value) && Number(value) >= 0 ? Math.min(Number(value), maxPageSize) : defaultPageSize
}

/** Whether objects of the type are nodes: objects with an id. */
function isNode(type: GraphQLNamedType): boolean {
  if (isUnionType(type)) return type.getTypes().every(isNode)
  return isObjectType(type) ? type.getInterfaces().some(({ name }) => name === 'Node') : type.name === 'Node'
}
