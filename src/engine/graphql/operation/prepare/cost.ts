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
import { own, recordOf } from '../../../own.ts'
import { defaultPageSize, maxPageSize } from '../../schema/connection.ts'
import { metadataOf, rowsOfParent } from '../../schema/field-metadata.ts'
import type { Values } from './coerce-variables.ts'
import { isIncluded, type SelectedField, type Selection } from './selection.ts'

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
  return {
    costOf: isConstant ? () => cost : (variables: Values) => calculate(variables).cost,
    costliestFields(variables: Values): readonly Share[] {
      const shares = new Map<string, number>()
      calculate(variables, shares)
      return [...shares].sort(([, one], [, other]) => other - one)
    },
    /** Returns a function that returns what the fields below the root cost besides nodes, in the data of a response. */
    extraPointsIn(variables: Values): (data: unknown) => number {
      const costly = calculationFor(variables).costlyFields(fields, 0)
      return (data) => extraPointsOf(costly, data)
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
  /** Whether the cost depends on the variables. */
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

  /** @param depth 0 for root fields, which cost nothing here */
  costlyFields(selected: readonly SelectedField[], depth: number): readonly CostlyField[] {
    return this.responseFields(selected).flatMap((one): CostlyField[] => {
      const { key, field, node, selections } = one
      const page = isListType(getNullableType(field.type)) ? undefined : this.pageOf(field, node)
      // The row more that a page reads is a point.
      const ofPage = page === undefined ? 0 : 1 + this.pointsOfCursors(node, page)
      const points = depth === 0 ? 0 : this.extraOf(one, depth === 1) + ofPage
      const below = this.costlyFields(selections, depth + 1)
      return points > 0 || below.length > 0 ? [{ key, points, below }] : []
    })
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
    const given = this.argument(node, name) as object | null | undefined
    const size = path.reduce<unknown>((value, key) => own(value as object | null | undefined, key), given)
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

/** A field that costs more than the nodes that it returns, or has such fields below it. */
interface CostlyField {
  readonly key: string
  readonly points: number
  readonly below: readonly CostlyField[]
}

function extraPointsOf(fields: readonly CostlyField[], data: unknown): number {
  if (fields.length === 0 || typeof data !== 'object' || data === null) return 0
  if (Array.isArray(data)) return data.reduce<number>((sum, item) => sum + extraPointsOf(fields, item), 0)
  return fields.reduce((sum, { key, points, below }) => {
    if (!Object.hasOwn(data, key)) return sum
    return sum + points + extraPointsOf(below, own(data, key))
  }, 0)
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
export function isNode(type: GraphQLNamedType): boolean {
  if (isUnionType(type)) return type.getTypes().every(isNode)
  return isObjectType(type) ? type.getInterfaces().some(({ name }) => name === 'Node') : type.name === 'Node'
}

/** The parts of a response that hold objects, by their keys. */
interface Part {
  isNode: boolean
  readonly parts: Map<string, Part>
}

/** Returns a function that counts the nodes in the data of an operation's response. */
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
  for (const [key, inner] of part.parts) nodes += count(inner, own(value as object, key))
  return nodes
}
