import type { Scope } from '@fusion-gateway/base'
import { count, filterText, listOf, maxEntries } from '@fusion-gateway/input'
import type { DataModel, Model } from '@fusion-gateway/prisma-trees'
import { unmet, type Where } from '@fusion-gateway/prisma-trees'
import type { EnumRef, InputRef, InputType } from '@pothos/core'
import { z } from 'zod'
import type { AppTypes, Context } from '../types.ts'

interface FieldOptions<Value, M extends Model> {
  readonly description: string
  /** Which rows the value selects, as Prisma Client takes it. */
  readonly where: (value: Value, context: Context) => Where<M>
  /** The scope that a viewer needs to filter by the field, because a search that finds a row reveals its value. */
  readonly scope?: Scope | undefined
  /** Whether a statement may read many rows that it does not return. Such an operation costs more. */
  readonly isScan?: boolean
}

type ConditionOptions<Value, M extends Model> = Omit<FieldOptions<Value, M>, 'isScan'>

/** What a field needs to know of the filter that its value is of (filter.ts). */
interface InnerFilter {
  readonly model: Model
  readonly type: InputType<AppTypes>
  readonly rules: z.ZodType
  isScan(values: object): boolean
  sizeOf(values: object, depth: number): number
  checkedWhereOf(values: object, context: Context): object
}

export interface FilterField<Value> extends Omit<FieldOptions<Value, Model>, 'where'> {
  readonly type: InputType<AppTypes> | [InputType<AppTypes>]
  readonly rule: z.ZodType
  /** The filter that the value is of, or of which it is a list. */
  readonly inner?: InnerFilter
  /** The number of conditions in the value. One by default. */
  readonly sizeOf?: (value: Value) => number
  readonly where: (value: Value, context: Context) => object
}

const anything = z.any()

const maxConditions = 20
const maxDepth = 4

export const filterBounds = { maxConditions, maxDepth }

/** Declares the fields of a filter, by the type of their values: `t` of `builder.filter`. */
export class FilterFieldBuilder<M extends Model> {
  /** The filter whose fields they are. It is complete when the schema is built. */
  private readonly self: () => InnerFilter
  private readonly model: DataModel

  constructor(self: () => InnerFilter, model: DataModel) {
    this.self = self
    this.model = model
  }

  string(options: FieldOptions<string, M>): FilterField<string> {
    return { ...options, type: 'String', rule: filterText }
  }

  id(options: FieldOptions<string, M>): FilterField<string> {
    return { ...options, type: 'ID', rule: filterText }
  }

  boolean(options: FieldOptions<boolean, M>): FilterField<boolean> {
    return { ...options, type: 'Boolean', rule: anything }
  }

  time(options: FieldOptions<Date, M>): FilterField<Date> {
    return { ...options, type: 'DateTime', rule: anything }
  }

  count(options: FieldOptions<number, M>): FilterField<number> {
    return { ...options, type: 'SafeInt', rule: count }
  }

  enum<Value extends string>(type: EnumRef<AppTypes, Value>, options: FieldOptions<Value, M>): FilterField<Value> {
    return { ...options, type, rule: anything }
  }

  stringList(options: FieldOptions<string[], M>): FilterField<string[]> {
    return list('String', filterText, options)
  }

  idList(options: FieldOptions<string[], M>): FilterField<string[]> {
    return list('ID', filterText, options)
  }

  /** Conditions of an input type of their own, all of which a row meets. */
  conditions<Value extends object>(
    type: InputRef<Value>,
    rule: z.ZodType,
    { description, where, ...options }: FieldOptions<Value, M>,
  ): FilterField<Value[]> {
    return {
      ...options,
      description: `${description} At most ${maxConditions}; an empty list selects everything.`,
      type: [type],
      rule: listOf(rule, maxConditions),
      sizeOf: (values) => values.length,
      where: (values, context) => ({ AND: values.map((value) => where(value, context)) }),
    }
  }

  enumList<Value extends string>(
    type: EnumRef<AppTypes, Value>,
    options: FieldOptions<Value[], M>,
  ): FilterField<Value[]> {
    return list(type, anything, options)
  }

  /** `and`, `or` and `not`, whose values are filters of the same kind. */
  logic(): Readonly<Record<'and' | 'or' | 'not', FilterField<object>>> {
    const { self, model } = this
    const lists = (description: string, isScan: boolean, combine: (selected: object[]) => object) =>
      inner(self, true, { description, isScan, combine })
    return {
      and: lists(
        `All of these filters select the row; an empty list selects everything. A filter has at most ${maxConditions} conditions, in filters nested at most ${maxDepth} deep.`,
        false,
        (selected) => ({ AND: selected }),
      ),
      or: lists('At least one of these filters selects the row; an empty list selects nothing.', true, (selected) => ({
        OR: selected,
      })),
      not: inner(self, false, {
        description:
          'The filter does not select the row. An unknown value meets no condition, so `not` selects its row.',
        isScan: true,
        combine: (selected) => unmet(model, self().model, { AND: selected }),
      }),
    }
  }

  /**
   * A condition on related rows, which another filter selects: `t.relation(AccountFilter, { where: (some) => ({
   * accounts: { some } }), … })`.
   *
   * @param options.scope of the field that returns the related rows; undefined if it needs none
   */
  relation(
    related: InnerFilter,
    options: Omit<ConditionOptions<object, M>, 'scope'> & { readonly scope: Scope | undefined },
  ): FilterField<object> {
    const { description, scope, where } = options
    return inner(() => related, false, {
      description: needs(description, scope),
      scope,
      isScan: true,
      combine: (selected, context) => where({ AND: selected }, context),
    })
  }

  // Conditions by which a filter says "without": a field without a value, or a row without related rows. They can read
  // many rows in vain.

  /** A condition for each nullable field: `...t.nulls(['url'])` adds `urlIsNull`. */
  nulls<const Name extends string>(
    fields: readonly Name[],
    { scope }: { readonly scope?: Scope | undefined } = {},
  ): Readonly<Record<`${Name}IsNull`, FilterField<boolean>>> {
    const conditions = fields.map((field) => [
      `${field}IsNull`,
      condition({
        description: `Whether \`${field}\` is null.`,
        where: (isNull) => ({ [field]: isNull ? null : { not: null } }),
        ...(scope && { scope }),
      }),
    ])
    return Object.fromEntries(conditions)
  }

  /** The condition that a row has related rows: `hasAccounts: t.exists({ … })`. */
  exists(options: ConditionOptions<boolean, M> & { readonly scope: Scope | undefined }): FilterField<boolean> {
    return condition(options)
  }
}

const needs = (description: string, scope: Scope | undefined) =>
  scope ? `${description} Needs the scope \`${scope}\`.` : description

/** A condition that a row meets or, if its value is false, does not. */
function condition(options: Omit<FilterField<boolean>, 'type' | 'rule'>): FilterField<boolean> {
  const description = needs(options.description, options.scope)
  return { ...options, type: 'Boolean', rule: anything, isScan: true, description }
}

/** A list, of which a row has one value. */
function list<Value, M extends Model>(
  type: InputType<AppTypes>,
  rule: z.ZodType,
  { description, ...options }: FieldOptions<Value, M>,
): FilterField<Value> {
  const bounds = `At most ${maxEntries}; an empty list selects nothing.`
  return { ...options, description: `${description} ${bounds}`, type: [type], rule: listOf(rule) }
}

interface InnerOptions {
  readonly description: string
  readonly scope?: Scope | undefined
  readonly isScan: boolean
  readonly combine: (selected: object[], context: Context) => object
}

function inner(filter: () => InnerFilter, isList: boolean, { combine, ...options }: InnerOptions): FilterField<object> {
  return {
    ...options,
    get inner() {
      return filter()
    },
    get type(): FilterField<object>['type'] {
      return isList ? [filter().type] : filter().type
    },
    get rule() {
      return isList ? z.array(filter().rules) : filter().rules
    },
    where: (value, context) =>
      combine(
        filtersIn(value).map((selected) => filter().checkedWhereOf(selected, context)),
        context,
      ),
  }
}

/** The filters in the value of a field: a filter, or a list of them. GraphQL reads a single value as a list of one. */
export function filtersIn(value: unknown): object[] {
  return [value].flat().filter((filter): filter is object => typeof filter === 'object' && filter !== null)
}

/** Selects the rows that have a text in one of their fields. Case is ignored. */
export function withText<const Field extends string>(text: string, ...fields: readonly Field[]) {
  const contains = { contains: text, mode: 'insensitive' } as const
  return { OR: fields.map((field) => ({ [field]: contains }) as Readonly<Record<Field, typeof contains>>) }
}

/** Selects the rows whose field has the value. */
export function equalTo<const Field extends string>(field: Field) {
  return <Value>(value: Value) => ({ [field]: value }) as Readonly<Record<Field, Value>>
}

/** Selects the rows whose field has one of the values. */
export function oneOf<const Field extends string>(field: Field) {
  return <Value>(values: Value[]) => ({ [field]: { in: values } }) as Readonly<Record<Field, { in: Value[] }>>
}
