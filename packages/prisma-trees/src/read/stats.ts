import type { Parameter } from '@fusion-gateway/sql'
import type { DataModel, Model, Table } from '../data-model.ts'
import type { Direction } from './order.ts'
import type { Ownership } from './owner.ts'
import type { Relation } from './relation.ts'
import { createClause, type Traits } from './where.ts'

/** As many rows of an owner are counted for an estimate. */
export const maxCounted = 10_000

/** The statement that counts the rows of an owner, up to one more than the maximum. */
export function ownRowsText(model: DataModel, modelName: Model, owned: Ownership) {
  const { parts, parameters } = createClause(model, modelName, owned, {})
  const own = `SELECT FROM "${model(modelName).name}" WHERE ${parts.join(' AND ')} LIMIT ${maxCounted + 1}`
  return { text: `SELECT count(*) FROM (${own}) AS own`, parameters }
}

/**
 * The statement that estimates the rows of an owner from the part of a sample of the table, or of the owner's
 * partition, that they are. Null if the sample has too few: PostgreSQL would then take the mean of other owners.
 */
export function shareText(model: DataModel, modelName: Model, owner: string) {
  const { name, owner: column } = model(modelName)
  const text = `
    SELECT sum(c.reltuples * s.most_common_freqs[array_position(s.most_common_vals::text::text[], $2)])::bigint
    FROM pg_class AS c
    JOIN pg_stats AS s ON s.schemaname = 'public' AND s.tablename = c.relname AND s.attname = '${column}' AND NOT s.inherited
    WHERE c.relkind = 'r' AND c.reltuples > 0
      AND (c.oid = $1::regclass OR EXISTS (SELECT FROM pg_inherits WHERE inhparent = $1::regclass AND inhrelid = c.oid))`
  return { text, parameters: [`"${name}"`, owner] }
}

/** The statement whose plan has the number of rows that PostgreSQL expects to be selected. */
export function estimateText(model: DataModel, modelName: Model, owned: Ownership, where: object) {
  const clause = createClause(model, modelName, owned, where)
  const text = `EXPLAIN (FORMAT JSON) SELECT 1 FROM "${model(modelName).name}" WHERE ${clause.parts.join(' AND ')}`
  return { text, parameters: clause.parameters }
}

interface Plan {
  readonly 'Plan Rows': number
  /** The plan of the server that has the rows. Citus estimates none itself. */
  readonly 'Distributed Query'?: {
    readonly Job: { readonly Tasks: readonly [{ readonly 'Remote Plan': [[Explained]] }] }
  }
}

interface Explained {
  readonly Plan: Plan
}

/** The number of rows in a plan. On a distributed database it is in the plan of the owner's node. */
export function rowsOfPlan(explained: unknown): number {
  const [{ Plan: root }] = (typeof explained === 'string' ? JSON.parse(explained) : explained) as [Explained]
  const distributed = root['Distributed Query']
  return distributed ? rowsOfPlan(distributed.Job.Tasks[0]['Remote Plan'][0]) : root['Plan Rows']
}

const typesOfNumbersAndTimes: ReadonlySet<string> = new Set(['Boolean', 'Int', 'BigInt', 'Float', 'DateTime'])

/**
 * Whether PostgreSQL estimates conditions without values that other owners have. Its statistics cover a table, and
 * name the most frequent texts, so that an estimate would tell whether others have a text. The statistics of times,
 * numbers, enums and missing values name nothing of others.
 *
 * @param isDistributed Citus cannot explain a statement with an enum
 */
export function canEstimate({ types }: Traits, isDistributed: boolean): boolean {
  return [...types].every((type) => (isDistributed ? typesOfNumbersAndTimes.has(type) : type !== 'String'))
}

/** A number, or a list of them, about the rows that a filter selects. */
export type StatsPart =
  /** How many there are. */
  | { readonly of: 'rows' }
  /** How many have each value of a field, the most frequent values first. */
  | { readonly of: 'values'; readonly field: string; readonly limit: number }
  /** The groups of equal keys, with numbers about the rows of each. */
  | GroupsPart
  /** How many have a related row with each value. The field `from` holds the id that the relation starts from. */
  | {
      readonly of: 'related values'
      readonly relation: Relation
      readonly from: string
      readonly field: string
      readonly limit: number
    }
  /** The sum and the distribution of a count. */
  | { readonly of: 'numbers'; readonly field: string }

/** The groups of rows with equal keys: those at the beginning of the order. */
export interface GroupsPart {
  readonly of: 'groups'
  readonly by: readonly GroupKey[]
  readonly numbers: readonly GroupNumber[]
  /** The number of rows, the keys in the order of `by`, or the sum of a number, by its index. Equal ones are ordered by their keys. */
  readonly order: { readonly by: 'rows' | 'keys' | number; readonly direction: Direction }
  readonly limit: number
}

/** What rows of a group have in common. */
export type GroupKey =
  /** The value of a field. Of a long text it is the beginning. */
  | { readonly field: string }
  /** The start of the interval in UTC that has a time: of the first of the fields that is not null. */
  | { readonly start: 'hour' | 'day' | 'month'; readonly of: readonly string[] }
  /** The range that has a number. Ranges begin at the bounds, which ascend, and the first one at 0. */
  | { readonly field: string; readonly bounds: readonly number[] }
  /** The number of related rows. The field `from` holds the id that the relation starts from. */
  | { readonly relation: Relation; readonly from: string }

/** A number of each row: that of a field, or the milliseconds between two times. */
export interface GroupNumber {
  readonly of: { readonly field: string } | { readonly from: string; readonly to: string }
  /** The percentiles to compute, from 0 to 1. */
  readonly fractions: readonly number[]
}

/** A group: its keys as texts, the number of its rows, and the distributions of the numbers. */
export interface RowGroup {
  readonly keys: readonly (string | null)[]
  readonly count: number
  readonly numbers: readonly Distribution[]
}

/** The distribution of a number in a group. Null if no row has the number. */
export interface Distribution {
  readonly sum: number | null
  readonly average: number | null
  readonly minimum: number | null
  readonly maximum: number | null
  /** In the order of the fractions. */
  readonly percentiles: readonly (number | null)[]
}

export type StatsResult<Part extends StatsPart> = Part extends { readonly of: 'rows' }
  ? number
  : Part extends { readonly of: 'numbers' }
    ? Numbers
    : Part extends GroupsPart
      ? readonly RowGroup[]
      : readonly Group[]

/** How many rows have a value. Of a long text the value is its beginning. */
export type Group = readonly [value: string | null, count: number]

/** The distribution of a number among the rows that have it. */
export interface Numbers {
  readonly count: number
  readonly sum: number
  /** Null if no row has the number, like all below. */
  readonly average: number | null
  readonly min: number | null
  readonly max: number | null
  readonly percentiles: readonly (number | null)[]
}

const percentiles = [10, 25, 50, 75, 90, 99] as const

/** What names a part among others. */
export function keyOf(part: StatsPart): string {
  switch (part.of) {
    case 'rows':
      return part.of
    case 'numbers':
      return `${part.of} ${part.field}`
    case 'groups':
      return JSON.stringify(part)
    case 'values':
      return `${part.of} ${part.field} ${part.limit}`
    case 'related values':
      return `${part.of} ${part.relation.model} ${part.field} ${part.limit}`
  }
}

/**
 * The statement that reads parts, with a JSON text for each. The filter is evaluated once, and the rows that it selects
 * are kept with the columns that the parts need.
 */
export function statsText(
  model: DataModel,
  modelName: Model,
  owned: Ownership,
  where: object,
  parts: readonly StatsPart[],
) {
  const table = model(modelName)
  const clause = createClause(model, modelName, owned, where)
  const columns = new Set<string>()

  function selected(field: string): string {
    const column = `"${table.columnOf(field).column}"`
    columns.add(column)
    return column
  }

  const parameter = (value: Parameter, type: string) => clause.parameter(value, type)

  /** The SELECT of the keys and numbers of each row. */
  function keyedRows({ by, numbers }: GroupsPart): string {
    const joins: string[] = []
    const keys = by.map((key, index) => {
      if ('start' in key) return startText(key, key.of.map(selected))
      if ('bounds' in key) return rangeText(selected(key.field), parameter(key.bounds.map(String), 'text[]'))
      if ('field' in key) {
        selected(key.field)
        return valueText(table, key.field)
      }
      const { name, columnOf } = model(key.relation.model)
      const column = `"${columnOf(key.relation.by).column}"`
      const counts = `SELECT ${column} AS id, count(*) AS related FROM "${name}" WHERE ${owned.conditionOn(key.relation.model)} GROUP BY ${column}`
      joins.push(`LEFT JOIN (${counts}) AS of_${index} ON of_${index}.id = selected.${selected(key.from)}`)
      return `coalesce(of_${index}.related, 0)::text`
    })
    const values = numbers.map(({ of }) =>
      'field' in of ? selected(of.field) : `extract(epoch FROM ${selected(of.to)} - ${selected(of.from)}) * 1000`,
    )
    const list = [
      ...keys.map((key, index) => `${key} AS key_${index}`),
      ...values.map((value, index) => `${value} AS number_${index}`),
    ]
    return `SELECT ${list.join(', ')} FROM selected ${joins.join(' ')}`
  }

  function textOf(part: StatsPart): string {
    switch (part.of) {
      case 'rows':
        return '(SELECT count(*)::text FROM selected)'
      case 'values': {
        selected(part.field)
        const values = `SELECT ${valueText(table, part.field)} AS key_0 FROM selected`
        return groupsText(values, mostFrequent(part.limit), parameter)
      }
      case 'groups':
        return groupsText(keyedRows(part), part, parameter)
      case 'related values': {
        const { relation, from, field, limit } = part
        const related = model(relation.model)
        const by = `"${related.columnOf(relation.by).column}"`
        const rows = `SELECT ${valueText(related, field)} AS value, ${by} AS id FROM "${related.name}" WHERE ${owned.conditionOn(relation.model)}`
        // Not count(DISTINCT …), which would sort all rows of each group.
        const values = `SELECT DISTINCT related.value AS key_0, related.id COLLATE "C" FROM selected JOIN (${rows}) AS related ON related.id = selected.${selected(from)}`
        return groupsText(values, mostFrequent(limit), parameter)
      }
      case 'numbers': {
        const column = selected(part.field)
        const fractions = percentiles.map((percent) => percent / 100).join(', ')
        const values = `count(${column}), coalesce(sum(${column}), 0), avg(${column}), min(${column}), max(${column})`
        const ordered = `percentile_disc(ARRAY[${fractions}]) WITHIN GROUP (ORDER BY ${column})`
        return `(SELECT json_build_array(${values}, ${ordered})::text FROM selected)`
      }
    }
  }

  const texts = parts.map(textOf)
  const list = columns.size > 0 ? [...columns].join(', ') : '1'
  const rows = `SELECT ${list} FROM "${table.name}" WHERE ${clause.parts.join(' AND ')}`
  return { text: `WITH selected AS MATERIALIZED (${rows}) SELECT ${texts.join(', ')}`, parameters: clause.parameters }
}

/** The longest value of a group. */
const maxCharacters = 200

/** The value of a row, in the collation that is compared fastest. */
function valueText({ columnOf }: Table, field: string): string {
  const { column, type } = columnOf(field)
  return `${type === 'String' ? `left("${column}", ${maxCharacters})` : `"${column}"::text`} COLLATE "C"`
}

/** The first day and hour of an interval: `2026-01-31`, `2026-01-31T08:00:00.000Z`. */
function startText({ start }: { readonly start: 'hour' | 'day' | 'month' }, columns: readonly string[]): string {
  const format = start === 'hour' ? 'YYYY-MM-DD"T"HH24:00:00.000"Z"' : start === 'day' ? 'YYYY-MM-DD' : 'YYYY-MM-01'
  return `to_char(coalesce(${columns.join(', ')}) AT TIME ZONE 'UTC', '${format}')`
}

/** The number of the range that has a number, from 0. */
function rangeText(column: string, bounds: string): string {
  return `width_bucket(${column}::numeric, ${bounds}::numeric[])::text`
}

/** The groups of one key that have the most rows. */
const mostFrequent = (limit: number): GroupsPart => ({
  of: 'groups',
  by: [{ field: '' }],
  numbers: [],
  order: { by: 'rows', direction: 'DESC' },
  limit,
})

/**
 * Groups of equal keys, with the number of rows and numbers about them, as JSON. Groups that are equal in the order are
 * ordered by their keys, so that they are in the same order everywhere.
 *
 * @param rows a SELECT with `key_0`, … and `number_0`, …
 */
function groupsText(
  rows: string,
  { by, numbers, order, limit }: GroupsPart,
  parameter: (value: Parameter, type: string) => string,
): string {
  const keys = by.map((_, index) => `key_${index}`)
  // The keys are texts, and those of counts and ranges are numbers.
  const sorts = by.map((key, index) =>
    'relation' in key || 'bounds' in key ? `key_${index}::bigint` : `key_${index} COLLATE "C"`,
  )
  const distributions = numbers.map(({ fractions }, index) => {
    const value = `number_${index}`
    const ordered =
      fractions.length === 0
        ? 'NULL'
        : `percentile_disc(${parameter(fractions.map(String), 'text[]')}::double precision[]) WITHIN GROUP (ORDER BY ${value})`
    return `json_build_array(sum(${value}), avg(${value}), min(${value}), max(${value}), ${ordered}) AS numbers_${index}`
  })
  const sums = typeof order.by === 'number' ? [`sum(number_${order.by}) AS sorted`] : []
  const first = order.by === 'keys' ? [] : [`${order.by === 'rows' ? 'rows' : 'sorted'} ${order.direction} NULLS LAST`]
  const ofKeys = order.by === 'keys' ? sorts.map((sort) => `${sort} ${order.direction} NULLS LAST`) : sorts
  const sorting = [...first, ...ofKeys].join(', ')
  const list = [...keys, 'count(*) AS rows', ...distributions, ...sums].join(', ')
  const groups = `SELECT ${list} FROM (${rows}) AS keyed GROUP BY ${keys.join(', ')}`
  const largest = `SELECT * FROM (${groups}) AS groups ORDER BY ${sorting} LIMIT ${parameter(String(limit), 'integer')}`
  const values = [...keys, 'rows', ...numbers.map((_, index) => `numbers_${index}`)].join(', ')
  return `(SELECT json_agg(json_build_array(${values}) ORDER BY ${sorting})::text FROM (${largest}) AS largest)`
}

export function decodePart(part: StatsPart, text: string | null): StatsResult<StatsPart> {
  const { of } = part
  const value: unknown = text === null ? [] : JSON.parse(text)
  if (of === 'rows') return value as number
  if (of === 'groups') return (value as unknown[][]).map((group) => toGroup(part, group))
  if (of !== 'numbers') return value as readonly Group[]
  const [count, sum, average, min, max, ordered] = value as [number, number, null, null, null, (number | null)[] | null]
  return { count, sum, average, min, max, percentiles: ordered ?? [] }
}

function toGroup({ by }: GroupsPart, values: readonly unknown[]): RowGroup {
  const numbers = values.slice(by.length + 1).map((value): Distribution => {
    const [sum, average, minimum, maximum, percentiles] = value as [null, null, null, null, (number | null)[] | null]
    return { sum, average, minimum, maximum, percentiles: percentiles ?? [] }
  })
  return { keys: values.slice(0, by.length) as (string | null)[], count: values[by.length] as number, numbers }
}
