import type { EnumRef, InputRef, InputType } from '@pothos/core'
import { z } from 'zod'
import { requireScope, type Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import type { Model } from '../../db/data-model.ts'
import type { Where } from '../../db/read/where.ts'
import { invalidField } from '../../errors.ts'
import { count, filterText, listOf, maxEntries, nullish, parseInput } from '../../input/rules.ts'
import { own } from '../../own.ts'
import { builder } from './builder.ts'

type Types = (typeof builder)['$inferSchemaTypes']

interface FieldOptions<Value, M extends Model = Model> {
  readonly description: string
  /** Which rows the value selects, as Prisma Client takes it. */
  readonly where: (value: Value, context: Context) => Where<M>
  /** The scope that a viewer needs to filter by the field, because a search that finds a row reveals its value. */
  readonly scope?: Scope
  /** Whether a statement may read many rows that it does not return. Such an operation costs more. */
  readonly isScan?: boolean
}

/** A field of a filter: its input, its checks, and which rows it selects. */
export interface FilterField<Value> extends FieldOptions<Value> {
  readonly type: InputType<Types> | readonly [InputType<Types>]
  readonly rule: z.ZodType
  /** The filter that the value is of, or of which it is a list. */
  readonly inner?: Filter
}

const anything = z.any()

/** The kinds of fields that a filter can have, by the type of their values. */
const kinds = {
  text: (options: FieldOptions<string>) => ({ ...options, type: 'String', rule: filterText }),
  id: (options: FieldOptions<string>) => ({ ...options, type: 'ID', rule: filterText }),
  boolean: (options: FieldOptions<boolean>) => ({ ...options, type: 'Boolean', rule: anything }),
  time: (options: FieldOptions<Date>) => ({ ...options, type: 'DateTime', rule: anything }),
  count: (options: FieldOptions<number>) => ({ ...options, type: 'SafeInt', rule: count }),
  value: (type: InputType<Types>, options: FieldOptions<string>) => ({ ...options, type, rule: anything }),
  texts: (options: FieldOptions<string[]>) => list('String', filterText, options),
  ids: (options: FieldOptions<string[]>) => list('ID', filterText, options),
  values: (type: InputType<Types>, options: FieldOptions<string[]>) => list(type, anything, options),
}

/** The same for the rows of a model. */
interface Kinds<M extends Model> {
  text(options: FieldOptions<string, M>): FilterField<string>
  id(options: FieldOptions<string, M>): FilterField<string>
  boolean(options: FieldOptions<boolean, M>): FilterField<boolean>
  time(options: FieldOptions<Date, M>): FilterField<Date>
  count(options: FieldOptions<number, M>): FilterField<number>
  value<Value extends string>(type: EnumRef<Types, Value>, options: FieldOptions<Value, M>): FilterField<Value>
  texts(options: FieldOptions<string[], M>): FilterField<string[]>
  ids(options: FieldOptions<string[], M>): FilterField<string[]>
  values<Value extends string>(type: EnumRef<Types, Value>, options: FieldOptions<Value[], M>): FilterField<Value[]>
}

/** Selects the rows that have a text in one of their fields. Case is ignored. */
export function withText<const Field extends string>(text: string, ...fields: readonly Field[]) {
  const contains = { contains: text, mode: 'insensitive' } as const
  return { OR: fields.map((field) => ({ [field]: contains }) as Readonly<Record<Field, typeof contains>>) }
}

/** A list, of which a row has one value. */
function list<Value>(type: InputType<Types>, rule: z.ZodType, { description, ...options }: FieldOptions<Value>) {
  const bounds = `At most ${maxEntries}; an empty list selects nothing.`
  return { ...options, description: `${description} ${bounds}`, type: [type] as const, rule: listOf(rule) }
}

// biome-ignore lint/suspicious/noExplicitAny: the fields of a filter have values of different types.
type FilterFields = Readonly<Record<string, FilterField<any>>>

/** The values of a filter. Absent and null do not restrict the list. */
type ValuesOf<Fields extends FilterFields> = {
  readonly [Name in keyof Fields]?: Parameters<Fields[Name]['where']>[0] | null | undefined
}

export type FilterValues = ValuesOf<FilterFields>

/** The filter of a list: the input type, and what its values mean. */
export interface Filter<Values = FilterValues> {
  readonly model: Model
  readonly type: InputRef<Values>
  readonly rules: z.ZodType
  /** Adds a field. Filters of two resources that refer to each other are defined first. */
  add(name: string, field: FilterFields[string]): void
  /**
   * Whether a value makes the operation cost more, or the filter is rejected. The values are as the client sent them.
   */
  isScan(values: Values): boolean
  /**
   * Which rows the values select, as Prisma Client takes it.
   *
   * @throws GatewayError BAD_USER_INPUT for a value that no row can have, or too many of them; FORBIDDEN for a field
   *   whose scope the viewer lacks
   */
  whereOf(values: Values, context: Context): object
  /** The same for values that are checked, except for the scopes of the viewer. */
  checkedWhereOf(values: Values, context: Context): object
  /**
   * The number of conditions. A filter without any counts as one. Beyond the most that a filter may have, no more are
   * counted: each alias counts the same variable, before its cost is known.
   *
   * @throws GatewayError BAD_USER_INPUT for filters within filters beyond the depth
   */
  sizeOf(values: Values, depth: number): number
  /** The same for values as the client sent them. A filter that is rejected counts as the largest that is accepted. */
  countOf(values: Values): number
}

const maxConditions = 20
const maxDepth = 4

/** The bounds of filters within filters, for descriptions. */
export const filterBounds = `A filter has at most ${maxConditions} conditions, in filters nested at most ${maxDepth} deep.`

/** The filters in the value of a field: a filter, or a list of them. GraphQL reads a single value as a list of one. */
export function filtersIn(value: unknown): object[] {
  return [value].flat().filter((filter): filter is object => typeof filter === 'object' && filter !== null)
}

/** Defines the filter of a list: `defineFilter('User', 'users', (f) => ({ name: f.text({ … }) }))`. */
export function defineFilter<M extends Model, Fields extends FilterFields>(
  model: M,
  plural: string,
  fieldsOf: (f: Kinds<M>) => Fields,
): Filter<ValuesOf<Fields>> {
  type Values = ValuesOf<Fields>
  const fields = new Map<string, FilterFields[string]>(Object.entries(fieldsOf(kinds as never)))
  // Read when a filter is checked first, because fields are still added here.
  const rules = z.lazy(() => z.object(nullish(Object.fromEntries([...fields].map(([name, { rule }]) => [name, rule])))))

  /** The fields that have a value. */
  const given = (values: Values) =>
    [...fields].flatMap(([name, field]) => (own(values, name) == null ? [] : [{ field, value: own(values, name) }]))

  return {
    model,
    type: builder.inputRef<Values>(`${model}Filter`).implement({
      description: `Selects ${plural}. An absent or null field does not restrict the list.`,
      fields: (t) =>
        Object.fromEntries(
          [...fields].map(([field, { type, description }]) => [field, t.field({ type: type as never, description })]),
        ) as never,
    }),
    rules,
    add: (name, field) => void fields.set(name, field),
    isScan(values) {
      const isRejected = sizeOrRejected(this, values) === undefined
      const fieldIsScan = ({ field: { isScan, inner }, value }: ReturnType<typeof given>[number]) =>
        isScan || (inner && filtersIn(value).some((filter) => inner.isScan(filter)))
      return isRejected || given(values).some(fieldIsScan)
    },
    whereOf(values, context) {
      if (this.sizeOf(values, 0) > maxConditions) {
        throw invalidField('filter', 'TOO_LONG', `must have at most ${maxConditions} conditions`)
      }
      parseInput(rules, values, 'filter')
      return this.checkedWhereOf(values, context)
    },
    checkedWhereOf(values, context) {
      const conditions = given(values)
      for (const { field } of conditions) if (field.scope) requireScope(context.viewer, field.scope)
      const where = conditions.map(({ field, value }) => field.where(value, context))
      const [only] = where
      return only && where.length === 1 ? only : where.length === 0 ? {} : { AND: where }
    },
    sizeOf(values, depth) {
      if (depth > maxDepth) throw invalidField('filter', 'OUT_OF_RANGE', `must be nested at most ${maxDepth} deep`)
      let size = 0
      for (const { field, value } of given(values)) {
        if (!field.inner) size += 1
        else
          for (const filter of filtersIn(value)) {
            size += field.inner.sizeOf(filter, depth + 1)
            if (size > maxConditions) return size
          }
      }
      return Math.max(1, size)
    },
    countOf(values) {
      return sizeOrRejected(this, values) ?? maxConditions
    },
  }
}

/** The number of conditions of a filter; undefined if they are too many, or nested too deep. */
function sizeOrRejected<Values>(filter: Pick<Filter<Values>, 'sizeOf'>, values: Values): number | undefined {
  try {
    const size = filter.sizeOf(values, 0)
    return size > maxConditions ? undefined : size
  } catch {
    return undefined
  }
}

// Conditions by which a filter says "without": a field without a value, or a row without related rows.

/** A condition that a row meets or, if its value is false, does not. It can read many rows in vain. */
function addCondition(filter: Filter, name: string, description: string, options: ConditionOptions): void {
  const { scope, where } = options
  const needs = scope ? ` Needs the scope \`${scope}\`.` : ''
  const field: FilterField<boolean> = {
    type: 'Boolean',
    rule: z.any(),
    isScan: true,
    description: description + needs,
    where,
    ...(scope && { scope }),
  }
  filter.add(name, field)
}

interface ConditionOptions {
  readonly scope?: Scope | undefined
  readonly where: (value: boolean) => Where
}

/** Adds a condition for each nullable field: `addNullConditions(ProfileFilter, ['url'])` adds `urlIsNull`. */
export function addNullConditions(
  filter: Filter,
  fields: readonly string[],
  { scope }: { readonly scope?: Scope } = {},
): void {
  for (const field of fields) {
    const where = (value: boolean) => ({ [field]: value ? null : { not: null } }) as Where
    addCondition(filter, `${field}IsNull`, `Whether \`${field}\` is null.`, { scope, where })
  }
}

/** Adds the condition that a row has related rows: `addExistence(UserFilter, 'hasAccounts', { … })`. */
export function addExistence<M extends Model>(
  filter: Filter,
  name: string,
  options: { readonly description: string; readonly scope: Scope; readonly where: (value: boolean) => Where<M> },
): void {
  const { description, ...condition } = options
  addCondition(filter, name, description, condition)
}
