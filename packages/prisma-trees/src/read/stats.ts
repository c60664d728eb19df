import type { DataModel, Model, Table } from '../data-model.ts'
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

export type StatsResult<Part extends StatsPart> = Part extends { readonly of: 'rows' }
  ? number
  : Part extends { readonly of: 'numbers' }
    ? Numbers
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

  function textOf(part: StatsPart): string {
    switch (part.of) {
      case 'rows':
        return '(SELECT count(*)::text FROM selected)'
      case 'values': {
        const values = `SELECT ${valueText(table, part.field)} AS value FROM selected`
        selected(part.field)
        return groupsText(values, clause.parameter(String(part.limit), 'integer'))
      }
      case 'related values': {
        const { relation, from, field, limit } = part
        const related = model(relation.model)
        const by = `"${related.columnOf(relation.by).column}"`
        const rows = `SELECT ${valueText(related, field)} AS value, ${by} AS id FROM "${related.name}" WHERE ${owned.conditionOn(relation.model)}`
        // Not count(DISTINCT …), which would sort all rows of each group.
        const values = `SELECT DISTINCT related.value, related.id COLLATE "C" FROM selected JOIN (${rows}) AS related ON related.id = selected.${selected(from)}`
        return groupsText(values, clause.parameter(String(limit), 'integer'))
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

/** The largest groups of equal values. Groups of the same size are in the same order everywhere. */
function groupsText(values: string, limit: string): string {
  const groups = `SELECT value, count(*) AS rows FROM (${values}) AS values GROUP BY value`
  const order = 'rows DESC, value'
  const largest = `SELECT * FROM (${groups}) AS groups ORDER BY ${order} LIMIT ${limit}`
  return `(SELECT json_agg(json_build_array(value, rows) ORDER BY ${order})::text FROM (${largest}) AS largest)`
}

export function decodePart({ of }: StatsPart, text: string | null): StatsResult<StatsPart> {
  const value: unknown = text === null ? [] : JSON.parse(text)
  if (of === 'rows') return value as number
  if (of !== 'numbers') return value as readonly Group[]
  const [count, sum, average, min, max, ordered] = value as [number, number, null, null, null, (number | null)[] | null]
  return { count, sum, average, min, max, percentiles: ordered ?? [] }
}
