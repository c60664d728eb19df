import type { FieldScope } from '@fusion-gateway/base'
import { invalidField } from '@fusion-gateway/base'
import type { Loaders, Numbers, StatsPart } from '@fusion-gateway/prisma-trees'
import { type FieldKind, type ObjectRef, RootFieldBuilder, type SchemaTypes } from '@pothos/core'
import { pointsOfScan } from '../field-metadata.ts'
import { type AppTypes, shared } from '../types.ts'
import type { Filter, FilterValues } from './filter.ts'

/** Reads parts of the statistics of the rows that a filter selects. All parts of a selection are one statement. */
export type Stats = ReturnType<Loaders['stats']>

type StatsFields = PothosSchemaTypes.ObjectFieldBuilder<AppTypes, Stats>

/** Each part reads the selected rows once. */
const cost = { extra: () => pointsOfScan }

/** The groups that a field returns by default, and at most. */
const [defaultGroups, maxGroups] = [20, 100] as const

const groupCount = shared((builder) =>
  builder.objectRef<{ readonly value: string | null; readonly count: number }>('GroupCount').implement({
    scope: 'inherited',
    description: 'How many objects have a value.',
    fields: (t) => ({
      value: t.exposeString('value', {
        nullable: true,
        description: 'The first 200 characters of the value. Null stands for no value.',
      }),
      count: t.exposeInt('count', { description: 'The number of objects.' }),
    }),
  }),
)

const percentile = (index: number, percent: number) => ({
  type: 'SafeInt' as const,
  nullable: true as const,
  description: `The number that ${percent} percent do not exceed. Null if no object has a number.`,
  resolve: ({ percentiles }: Numbers) => percentiles[index] ?? null,
})

const numberStats = shared((builder) =>
  builder.objectRef<Numbers>('NumberStats').implement({
    scope: 'inherited',
    description: 'The sum and the distribution of a number, among the objects that have it.',
    fields: (t) => ({
      count: t.exposeInt('count', { description: 'The number of objects that have it.' }),
      sum: t.exposeFloat('sum', { description: 'The sum. Above 2^53 it is rounded.' }),
      average: t.exposeFloat('average', {
        nullable: true,
        description: 'The average. Null if no object has a number.',
      }),
      min: t.expose('min', { type: 'SafeInt', nullable: true, description: 'The smallest number.' }),
      max: t.expose('max', { type: 'SafeInt', nullable: true, description: 'The largest number.' }),
      p10: t.field(percentile(0, 10)),
      p25: t.field(percentile(1, 25)),
      p50: t.field(percentile(2, 50)),
      p75: t.field(percentile(3, 75)),
      p90: t.field(percentile(4, 90)),
      p99: t.field(percentile(5, 99)),
    }),
  }),
)

export function rowCount(t: StatsFields, description: string) {
  return t.int({ description, cost, resolve: (load) => load({ of: 'rows' }) })
}

/** A field with the number of rows for each value of a text, the most frequent values first. */
export function groups(t: StatsFields, description: string, partOf: (limit: number) => GroupsPart) {
  return t.field({
    type: [groupCount(t.builder)],
    description: `${description} The largest groups come first.`,
    // A list of rows, which this is not, has no default for `first`.
    cost: { extra: ({ first }) => pointsOfScan + (first == null ? defaultGroups : 0) },
    args: {
      first: t.arg.int({ description: `The number of groups: 0–${maxGroups}. ${defaultGroups} by default.` }),
    },
    resolve: async (load, { first }) => {
      const limit = first ?? defaultGroups
      if (limit < 0 || limit > maxGroups) throw invalidField('first', 'OUT_OF_RANGE', `must be from 0 to ${maxGroups}`)
      return (await load(partOf(limit))).map(([value, count]) => ({ value, count }))
    },
  })
}

type GroupsPart = Exclude<Extract<StatsPart, { readonly limit: number }>, { readonly of: 'groups' }>

/** The number of rows for each value of a field that has few: an enum, or true and false. */
export const countsOf = async (load: Stats, part: (limit: number) => GroupsPart) => load(part(maxGroups))

/** A field with the sum and the distribution of a count. */
export function numbers(t: StatsFields, field: string, description: string) {
  return t.field({ type: numberStats(t.builder), description, cost, resolve: (load) => load({ of: 'numbers', field }) })
}

declare global {
  export namespace PothosSchemaTypes {
    interface RootFieldBuilder<Types extends SchemaTypes, ParentShape, Kind extends FieldKind> {
      /** A field with statistics of the rows that a filter selects: `userStats(filter): UserStats`. */
      stats(options: StatsOptions): FieldRef<Types, unknown, Kind>
    }
  }
}

interface StatsOptions {
  readonly type: ObjectRef<AppTypes, Stats>
  readonly filter: Filter
  /** What is counted: `users`. */
  readonly plural: string
  /** A sentence: that they are read with one statement is added. */
  readonly description: string
  readonly scope?: FieldScope | undefined
}

type Fields = PothosSchemaTypes.RootFieldBuilder<AppTypes, unknown, 'Query'>

const { prototype } = RootFieldBuilder as { readonly prototype: Fields }

prototype.stats = function stats(this: Fields, { type, filter, plural, scope, description }) {
  const { model } = filter
  return this.field({
    type,
    scope,
    description: `${description} What is selected of them is read with one statement.`,
    cost: { extra: ({ filter: values }) => (filter.isScan((values ?? {}) as FilterValues) ? pointsOfScan : 0) },
    args: { filter: this.arg({ type: filter.type, description: `Selects ${plural}. All by default.` }) },
    root: { model, readsOthers: true },
    resolve: (_, args, context) => context.loaders.stats(model, filter.whereOf(args.filter ?? {}, context)),
  })
}
