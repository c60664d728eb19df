import { invalidField, ownValue } from '@fusion-gateway/base'
import type { Direction, Distribution, GroupKey, GroupNumber, RowGroup } from '@fusion-gateway/prisma-trees'
import type { EnumRef } from '@pothos/core'
import {
  type FieldNode,
  type GraphQLResolveInfo,
  getArgumentValues,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql'
import { pointsOfScan } from '../field-metadata.ts'
import { type AppTypes, shared } from '../types.ts'
import { orderDirection } from './order.ts'
import type { Stats } from './stats.ts'

// Groups of any keys with numbers about them. All that is selected of a group is read by the statement that groups, so
// the selection is read before.

type StatsFields = PothosSchemaTypes.ObjectFieldBuilder<AppTypes, Stats>

/** A key of groups: the value of the enum, and the field that has it. */
interface GroupKeyOptions {
  /** The name of the field: `platform`. */
  readonly field: string
  readonly type: 'String' | 'Int' | 'Boolean' | 'Date' | 'DateTime' | EnumRef<AppTypes, unknown>
  readonly description: string
  readonly key: GroupKey
  /** The value for the text of a key. By default the text. */
  readonly decode?: (text: string) => unknown
}

interface GroupNumberOptions {
  readonly description: string
  readonly of: GroupNumber['of']
  /** The value of the order by the sum of it, if there is one. */
  readonly order?: string
}

interface GroupsOptions {
  /** What is counted: `Profile`, `profiles`. */
  readonly name: string
  readonly plural: string
  /** The keys by their values of the enum. */
  readonly by: Readonly<Record<string, GroupKeyOptions>>
  /** The numbers by their fields. */
  readonly numbers: Readonly<Record<string, GroupNumberOptions>>
  /** Whether a key or a number can change without an event. */
  readonly isUnlogged?: boolean
}

/** A group, with what says where its keys and numbers are. */
interface Group {
  readonly row: RowGroup
  readonly by: readonly string[]
  readonly selected: SelectedNumbers
}

/** The fractions to compute of each selected number, by its field. */
type SelectedNumbers = ReadonlyMap<string, readonly number[]>

interface GroupNumbers extends Distribution {
  readonly fractions: readonly number[]
}

/** The groups that a field returns by default and at most, and the keys that they can have. */
const [defaultGroups, maxGroups, maxKeys] = [20, 100, 3] as const

const percentileOf = ({ fractions, percentiles }: GroupNumbers, fraction: number) =>
  percentiles[fractions.indexOf(fraction)] ?? null

const groupNumbers = shared((builder) =>
  builder.objectRef<GroupNumbers>('GroupNumbers').implement({
    scope: 'inherited',
    description: 'The distribution of a number among the objects of a group that have it. All are null if none has it.',
    fields: (t) => ({
      sum: t.exposeFloat('sum', { nullable: true, description: 'The sum. Above 2^53 it is rounded.' }),
      average: t.exposeFloat('average', { nullable: true, description: 'The average.' }),
      minimum: t.exposeFloat('minimum', { nullable: true, description: 'The smallest number.' }),
      maximum: t.exposeFloat('maximum', { nullable: true, description: 'The largest number.' }),
      median: t.float({
        nullable: true,
        description: 'The number that half of the objects do not exceed.',
        resolve: (numbers) => percentileOf(numbers, 0.5),
      }),
      p95: t.float({
        nullable: true,
        description: 'The number that 95 percent of the objects do not exceed.',
        resolve: (numbers) => percentileOf(numbers, 0.95),
      }),
      percentile: t.float({
        nullable: true,
        description: 'The number that a part of the objects does not exceed.',
        args: { p: t.arg.float({ required: true, description: 'The part: from 0 to 1. 0.5 is the median.' }) },
        resolve(numbers, { p }) {
          if (!isFraction(p)) throw invalidField('p', 'OUT_OF_RANGE', 'must be from 0 to 1')
          return percentileOf(numbers, p)
        },
      }),
    }),
  }),
)

const isFraction = (p: unknown): p is number => typeof p === 'number' && p >= 0 && p <= 1

/** The field `groups` of statistics: groups of rows with equal keys. */
export function keyedGroups(t: StatsFields, { name, plural, by: keys, numbers, isUnlogged = false }: GroupsOptions) {
  const { builder } = t
  const groupBy = builder.enumType(`${name}GroupBy`, {
    description: `What ${plural} of a group have in common.`,
    values: Object.fromEntries(Object.entries(keys).map(([value, { description }]) => [value, { description }])),
  })
  const orders = new Map(
    Object.entries(numbers).flatMap(([field, { order }], index) =>
      order === undefined ? [] : [[order, { field, index }]],
    ),
  )
  const orderField = builder.enumType(`${name}GroupOrderField`, {
    description: 'What groups are ordered by. Groups that are equal in it are ordered by their keys.',
    values: {
      COUNT: { description: `The number of ${plural}.` },
      KEYS: { description: 'The keys, in the order of `by`. Those without a value come last.' },
      ...Object.fromEntries(
        [...orders].map(([value, { field }]) => [value, { description: `The sum of \`${field}\`.` }]),
      ),
    },
  })
  const groupOrder = builder.inputType(`${name}GroupOrder`, {
    description: `The order of groups of ${plural}.`,
    fields: (t) => ({
      field: t.field({ type: orderField, required: true, description: 'What to order by.' }),
      direction: t.field({ type: orderDirection(builder), required: true, description: 'The direction.' }),
    }),
  })
  const group = builder.objectRef<Group>(`${name}Group`).implement({
    scope: 'inherited',
    description: `A group of ${plural}. A key that is not in \`by\` is null.`,
    fields: (t) => ({
      ...Object.fromEntries(
        Object.entries(keys).map(([value, { field, type, description, decode = (text: string): unknown => text }]) => [
          field,
          t.field({
            type: type as 'String',
            nullable: true,
            description,
            resolve({ row, by }) {
              const text = row.keys[by.indexOf(value)] ?? null
              return text === null ? null : (decode(text) as string)
            },
          }),
        ]),
      ),
      count: t.int({ description: `The number of ${plural}.`, resolve: ({ row }) => row.count }),
      ...Object.fromEntries(
        Object.entries(numbers).map(([field, { description }]) => [
          field,
          t.field({
            type: groupNumbers(builder),
            description,
            // A point for each group and number: to sort them takes the longest.
            cost: { extra: () => 1 },
            resolve({ row, selected }): GroupNumbers {
              const index = [...selected.keys()].indexOf(field)
              return { ...(row.numbers[index] as Distribution), fractions: selected.get(field) ?? [] }
            },
          }),
        ]),
      ),
    }),
  })
  return t.field({
    type: [group],
    description: `Groups of ${plural} with equal keys. The largest come first by default.`,
    cost: { length: defaultGroups, extra: ({ first }) => pointsOfScan + (first == null ? defaultGroups : 0) },
    isUnlogged,
    args: {
      by: t.arg({ type: [groupBy], required: true, description: `The keys: 1–${maxKeys} different ones.` }),
      orderBy: t.arg({ type: groupOrder, description: 'The order. The largest groups first by default.' }),
      first: t.arg.int({ defaultValue: defaultGroups, description: `The number of groups: 0–${maxGroups}.` }),
    },
    async resolve(load, { by, orderBy, first }, _context, info) {
      if (by.length < 1 || by.length > maxKeys || new Set(by).size < by.length)
        throw invalidField('by', 'OUT_OF_RANGE', `must have 1 to ${maxKeys} different keys`)
      const limit = first ?? defaultGroups
      if (limit < 0 || limit > maxGroups) throw invalidField('first', 'OUT_OF_RANGE', `must be from 0 to ${maxGroups}`)
      const { field: orderedBy, direction = 'DESC' } = orderBy ?? {}
      const sum = orders.get(orderedBy ?? '')
      const selected = selectedNumbers(info, numbers, sum?.field)
      const part = {
        of: 'groups' as const,
        by: by.map((value) => (ownValue(keys, value) as GroupKeyOptions).key),
        numbers: [...selected].map(([field, fractions]) => ({
          of: (ownValue(numbers, field) as GroupNumberOptions).of,
          fractions,
        })),
        order: {
          by: sum
            ? [...selected.keys()].indexOf(sum.field)
            : orderedBy === 'KEYS'
              ? ('keys' as const)
              : ('rows' as const),
          direction: direction as Direction,
        },
        limit,
      }
      return (await load(part)).map((row): Group => ({ row, by, selected }))
    },
  })
}

/**
 * The numbers that a selection of groups has, with the fractions of their percentiles.
 *
 * @param ordered the number that the groups are ordered by
 */
function selectedNumbers(info: GraphQLResolveInfo, numbers: object, ordered: string | undefined): SelectedNumbers {
  const percentile = info.schema.getType('GroupNumbers')
  const field = isObjectType(percentile) ? percentile.getFields()['percentile'] : undefined
  const selected = new Map<string, Set<number>>()
  if (ordered !== undefined) selected.set(ordered, new Set())
  for (const node of info.fieldNodes.flatMap((node) => fieldsBelow(info, node.selectionSet))) {
    const { value: name } = node.name
    if (!Object.hasOwn(numbers, name)) continue
    const fractions = selected.get(name) ?? new Set<number>()
    selected.set(name, fractions)
    for (const below of fieldsBelow(info, node.selectionSet)) {
      if (below.name.value === 'median') fractions.add(0.5)
      if (below.name.value === 'p95') fractions.add(0.95)
      if (below.name.value !== 'percentile' || !field) continue
      const { p } = getArgumentValues(field, below, info.variableValues)
      // The field itself rejects others.
      if (isFraction(p)) fractions.add(p)
    }
  }
  return new Map([...selected].map(([name, fractions]) => [name, [...fractions]]))
}

/** The fields of a selection, with those of its fragments. */
function fieldsBelow(
  info: Pick<GraphQLResolveInfo, 'fragments'>,
  selection: SelectionSetNode | undefined,
): FieldNode[] {
  return (selection?.selections ?? []).flatMap((node) => {
    if (node.kind === Kind.FIELD) return [node]
    const inner =
      node.kind === Kind.FRAGMENT_SPREAD ? ownValue(info.fragments, node.name.value)?.selectionSet : node.selectionSet
    return fieldsBelow(info, inner)
  })
}
