import {
  GraphQLBoolean,
  type GraphQLCompositeType,
  type GraphQLField,
  GraphQLID,
  type GraphQLInputType,
  GraphQLNonNull,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isAbstractType,
  isCompositeType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from 'graphql'
import type { Random } from '../../../src/domain/resource.ts'
import { type Cursors, listNameOf } from '../reference/cursors.ts'
import { ordersIn } from '../reference/lists.ts'
import { ordersOf } from '../world/learn-cursors.ts'
import { isLeftOut } from './left-out.ts'
import { createValues, lengthOfList, pickFields } from './values.ts'
import { createVariables, literalOf, sets, type Values } from './variables.ts'

/** A random operation, and several sets of values for its variables. */
export interface GeneratedOperation {
  readonly text: string
  readonly sets: readonly Values[]
}

export interface GeneratorOptions {
  readonly schema: GraphQLSchema
  readonly cursors: Cursors
  /** The tenant whose cursors are arguments. */
  readonly tenantAppId: string
}

interface Place {
  readonly type: GraphQLCompositeType
  /** How many levels of fields may follow. */
  readonly depth: number
  /** How often the response can have this place. The gateway counts so, and rejects operations that cost too much. */
  readonly times: number
}

interface Fragment extends Place {
  readonly name: string
  readonly text: string
}

/** The gateway accepts 20,000 points, 60 aliases and 2,000 tokens. */
const maxTimes = 400
const maxAliases = 55
const maxItems = 80

/** The length that the gateway assumes of a list of nodes, and most of the longest pages here. */
const lengthOfLists = 5
const lengthOfPages = 20

/**
 * Generates a valid operation: with `random` of the same state, the same one.
 *
 * @param name of its root field; without it, there are random ones
 */
export function generateOperation(options: GeneratorOptions, random: Random, name?: string): GeneratedOperation {
  const { schema } = options
  const type = schema.getQueryType()
  if (!type) throw new Error('The schema has no queries')
  const writer = createWriter(options, random)
  const place = { type, depth: 3 + random.below(7), times: 1 }
  const count = 1 + random.below(3)
  const field = name === undefined ? undefined : type.getFields()[name]
  const selection = field
    ? `{ ${Array.from({ length: count }, () => writer.selectionOfField(place, field)).join(' ')} }`
    : writer.selectionOf(place, count)
  const text = `query Random${writer.variables.definitions()} ${selection}${writer.fragmentTexts()}`
  return { text, sets: Array.from({ length: sets }, (_, set) => writer.variables.valuesOf(set)) }
}

/**
 * Generates a mutation with the variable `$input`, or `$inputs` for many.
 *
 * @param name of the mutation
 */
export function generateMutation(options: GeneratorOptions, random: Random, name: string): GeneratedOperation {
  const field = options.schema.getMutationType()?.getFields()[name]
  const [argument] = field?.args ?? []
  const payload = field && getNamedType(field.type)
  if (!argument || !isCompositeType(payload)) throw new Error(`${name} is no mutation with an input`)
  const writer = createWriter(options, random)
  const selection = writer.selectionOf({ type: payload, depth: 5, times: 5 }, 2 + random.below(3))
  const definitions = writer.variables.definitions(`$${argument.name}: ${argument.type}`)
  const text = `mutation Random${definitions} { ${name}(${argument.name}: $${argument.name}) ${selection} }${writer.fragmentTexts()}`
  return { text, sets: Array.from({ length: sets }, (_, set) => writer.variables.valuesOf(set)) }
}

/**
 * What an operation has. Most have not everything: the gateway compiles an operation only without directives and
 * without variables in objects and lists, and plans the columns and relations of one only with few variables in
 * directives.
 */
function styleOf({ below, pick }: Random) {
  return {
    /** One in so many selections has a directive; 0: none. */
    directives: pick([0, 0, 4, 4, 8]),
    /**
     * Whether only fields without selections have directives: then the relations are the same for all values, and the
     * columns are not.
     */
    hasLeafDirectives: below(2) === 0,
    /** How many variables decide `@skip` and `@include`. */
    conditions: pick([1, 1, 2, 3, 6]),
    hasInnerVariables: below(2) === 0,
    /** One in so many selections is a fragment. */
    fragments: pick([2, 4, 12]),
  }
}

function createWriter({ schema, cursors, tenantAppId }: GeneratorOptions, random: Random) {
  const { below, pick } = random
  const style = styleOf(random)
  const value = createValues(random)
  // Those of the tenant whose rows mutations change are not learned.
  const hasCursors = cursors.all(tenantAppId, listNameOf('accounts', ordersIn('accounts', {}))).length > 0
  const variables = createVariables(random, style.conditions)
  const fragments: Fragment[] = []
  /**
   * What each key of the response stands for. A key stands for one thing in the whole document, so that selections can
   * be merged.
   */
  const keys = new Map<string, string>()
  const argumentTexts = new Map<string, string[]>()
  let aliases = 0
  let items = 0

  function selectionOf(place: Place, count = pick([1, 2, 2, 3, 3, 4, 6])): string {
    const selected = Array.from({ length: count }, () => itemOf(place)).filter((item) => item !== undefined)
    if (selected.length === 0) selected.push('__typename')
    return `{ ${selected.join(' ')} }`
  }

  function itemOf(place: Place): string | undefined {
    items += 1
    if (items > maxItems) return undefined
    if (below(20) === 0) return `${withAlias('__typename', '__typename')}${directives(true)}`
    if (isAbstractType(place.type)) return pick([inlineFragment, inlineFragment, spread])(place)
    if (below(style.fragments) === 0) return pick([plainFragment, inlineFragment, spread, spread])(place)
    return fieldOf(place)
  }

  function plainFragment(place: Place): string {
    return `...${directives()} ${selectionOf(place)}`
  }

  function inlineFragment(place: Place): string | undefined {
    if (below(8) === 0 && isInterfaceType(place.type)) return `${withAlias('id', 'id: ID!')}${directives(true)}`
    const type = narrowed(place.type)
    return `... on ${type.name}${directives()} ${selectionOf({ ...place, type })}`
  }

  /**
   * A type for a fragment: the type itself, one of its interfaces, or one of the object types of an interface or a
   * union, or an interface that these have.
   */
  function narrowed(type: GraphQLCompositeType): GraphQLCompositeType {
    if (isUnionType(type) && below(8) === 0) return pick(pick(type.getTypes()).getInterfaces())
    if (isAbstractType(type)) return below(8) === 0 ? type : pick(schema.getPossibleTypes(type))
    const interfaces = isObjectType(type) ? type.getInterfaces() : []
    return interfaces.length > 0 && below(6) === 0 ? pick(interfaces) : type
  }

  function spread(place: Place): string {
    const known = fragments.filter(
      ({ type, depth, times }) =>
        (type === place.type ||
          (isInterfaceType(type) && isObjectType(place.type) && place.type.getInterfaces().includes(type))) &&
        depth <= place.depth &&
        times >= place.times,
    )
    if (known.length > 0 && below(2) === 0) return `...${pick(known).name}${directives()}`
    const depth = Math.min(place.depth, 1 + below(4))
    const type = narrowed(place.type)
    const text = selectionOf({ type, depth, times: place.times })
    const name = `f${fragments.length + 1}`
    fragments.push({ type, depth, times: place.times, name, text: `fragment ${name} on ${type.name} ${text}` })
    return `...${name}${directives()}`
  }

  function fieldOf(place: Place): string | undefined {
    const { type, depth } = place
    if (isUnionType(type)) return undefined
    const possible = Object.values(type.getFields()).filter(
      (field) =>
        !isLeftOut(type.name, field.name) &&
        (hasCursors || !field.name.toLowerCase().endsWith('cursor')) &&
        (depth > 1 || !isCompositeType(getNamedType(field.type))),
    )
    // Fields below which there are others are chosen more often.
    const composite = possible.filter((field) => isCompositeType(getNamedType(field.type)))
    const field = pick(composite.length > 0 && below(5) < 2 ? composite : possible)
    return field && selectionOfField(place, field)
  }

  function selectionOfField({ type, depth, times }: Place, field: GraphQLField<unknown, unknown>): string | undefined {
    const named = getNamedType(field.type)
    const isPage = field.args.some(({ name }) => name === 'first')
    const length = isListType(getNullableType(field.type)) ? lengthOfLists : isPage ? lengthOfPages : 1
    if (isCompositeType(named) && times * length > maxTimes) return undefined
    const text = argumentsOf(type, field, isPage)
    if (!isCompositeType(named))
      return `${withAlias(field.name, `${field.name}${text}: ${field.type}`)}${text}${directives(true)}`
    const inner = selectionOf({ type: named, depth: depth - 1, times: times * length })
    return `${withAlias(field.name, `${field.name}${text}: ${field.type}`)}${text}${directives()} ${inner}`
  }

  /** The start of a field: its name, or an alias and its name. Aliases are sometimes the names of other fields. */
  function withAlias(name: string, meaning: string): string {
    const known = [...keys].filter(([, of]) => of === meaning).map(([key]) => key)
    const isFree = (key: string) => !keys.has(key) || keys.get(key) === meaning
    const key =
      known.length > 0 && below(3) > 0
        ? pick(known)
        : isFree(name) && (below(4) > 0 || aliases >= maxAliases)
          ? name
          : ([pick(otherNames), `a${aliases}`].find(isFree) as string)
    keys.set(key, meaning)
    if (key === name) return name
    aliases += 1
    return `${key}: ${name}`
  }

  function directives(isLeaf = false): string {
    if (style.directives === 0 || (style.hasLeafDirectives && !isLeaf) || below(style.directives) > 0) return ''
    const condition = () =>
      below(4) === 0 ? String(below(2) === 0) : variables.condition(new GraphQLNonNull(GraphQLBoolean))
    const [one, other] = below(2) === 0 ? ['include', 'skip'] : ['skip', 'include']
    return below(8) === 0
      ? ` @${one}(if: ${condition()}) @${other}(if: ${condition()})`
      : ` @${one}(if: ${condition()})`
  }

  /** The arguments of a field: new ones, or those of another selection of the field, so that the two are merged. */
  function argumentsOf(type: GraphQLCompositeType, field: GraphQLField<unknown, unknown>, isPage: boolean): string {
    const coordinate = `${type.name}.${field.name}`
    const known = argumentTexts.get(coordinate) ?? []
    const text = known.length > 0 && below(3) === 0 ? pick(known) : newArguments(field, isPage)
    argumentTexts.set(coordinate, [...known, text])
    return text
  }

  function newArguments(field: GraphQLField<unknown, unknown>, isPage: boolean): string {
    const given = isPage
      ? pageArguments(field)
      : field.args.map(({ name, type }) => [name, argument(type, `${field.name}.${name}`)])
    const texts = given.map(([name, text]) => `${name}: ${text}`)
    return texts.length === 0 ? '' : `(${texts.join(', ')})`
  }

  /** The arguments of a list. With a cursor, the order is that of the cursor. */
  function pageArguments(field: GraphQLField<unknown, unknown>): string[][] {
    const typeOf = (name: string) => field.args.find((arg) => arg.name === name)?.type as GraphQLInputType
    const place = (name: string) => [name, argument(typeOf(name), `${field.name}.${name}`)]
    // The lists of the rows of a parent have the cursors of the list of all rows.
    const list = field.name.replace('Connection', '')
    const isConnection = typeOf('last') !== undefined
    if (!isConnection && below(3) === 0) return []
    const order = typeOf('orderBy') && below(2) === 0 ? pick(ordersOf(schema, list)) : []
    const [first, ...ties] = order
    const known = cursors.all(tenantAppId, listNameOf(list, order.length > 0 ? order : ordersIn(list, {})))
    const hasCursor = isConnection && known.length > 0 && below(2) === 0
    const orderBy = typeOf('orderBy')
    const given: string[][] = []
    if (isConnection && below(50) === 0) given.push(place('first'), place('last'))
    else if (below(6) > 0) given.push(place(pick(isConnection ? ['first', 'first', 'last'] : ['first'])))
    if (typeOf('filter') && below(2) === 0) given.push(place('filter'))
    if (first && hasCursor) given.push(['orderBy', literalOf(first, orderBy)])
    else if (first) given.push(place('orderBy'))
    if (ties.length > 0 && hasCursor) given.push(['thenBy', literalOf(ties, typeOf('thenBy'))])
    else if (ties.length > 0) given.push(place('thenBy'))
    if (hasCursor) {
      const cursor = () => (below(40) === 0 ? pick(['', 'x', 'bm90IGEgY3Vyc29y']) : pick(known))
      for (const name of pick([['after'], ['after'], ['before'], ['before'], ['after', 'before']])) {
        const type = typeOf(name)
        given.push([name, below(2) === 0 ? literalOf(cursor(), type) : variables.declare(type, cursor)])
      }
    }
    return given.sort(() => below(3) - 1)
  }

  /** The text of an argument, or of a part of it: a literal, a variable, or a literal with variables within. */
  function argument(type: GraphQLInputType, path: string, isInner = false): string {
    const nullable = getNullableType(type)
    if (below(3) === 0 && (style.hasInnerVariables || !isInner)) return variables.declare(type, () => value(type, path))
    if (!isNonNullType(type) && below(40) === 0) return 'null'
    if (isListType(nullable)) {
      // A single item is read as a list. A variable of the item's type is not allowed there.
      if (below(8) === 0) return literalOf(value(nullable.ofType, path), nullable.ofType)
      return `[${Array.from({ length: lengthOfList(type, random) }, () => argument(nullable.ofType, path, true)).join(', ')}]`
    }
    if (getNamedType(type).name === '_Any' && style.hasInnerVariables && below(5) === 0) {
      const id = variables.declare(new GraphQLNonNull(GraphQLID), () => value(GraphQLID, 'user.id'))
      return `{ __typename: "User", id: ${id} }`
    }
    if (!isInputObjectType(nullable)) return literalOf(value(type, path), type)
    const fields = pickFields(Object.values(nullable.getFields()), path, random)
    return `{ ${fields.map((field) => `${field.name}: ${argument(field.type, `${path}.${field.name}`, true)}`).join(', ')} }`
  }

  return {
    selectionOf,
    selectionOfField,
    variables,
    fragmentTexts: () => fragments.map(({ text }) => ` ${text}`).join(''),
  }
}

/** Names of fields that are aliases of other fields. */
const otherNames = [
  'id',
  'name',
  'email',
  'createdAt',
  'platform',
  'status',
  'displayName',
  'user',
  'profile',
  'nodes',
  'type',
  'value',
]
