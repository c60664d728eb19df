import { invalidField, ownValue, requireScope } from '@fusion-gateway/base'
import { nullish, parseInput } from '@fusion-gateway/input'
import type { Model } from '@fusion-gateway/prisma-trees'
import SchemaBuilder, {
  type InputFieldsFromShape,
  type InputRef,
  type RecursivelyNormalizeNullableFields,
  type SchemaTypes,
} from '@pothos/core'
import { z } from 'zod'
import { dataModelOf } from '../options.ts'
import type { AppTypes, Context } from '../types.ts'
import { type FilterField, FilterFieldBuilder, filterBounds, filtersIn } from './filter-fields.ts'

// biome-ignore lint/suspicious/noExplicitAny: the fields of a filter have values of different types.
type AnyField = FilterField<any>

type FilterFields = Readonly<Record<string, AnyField>>

/** The values of a filter. Absent and null do not restrict the list. */
type ValuesOf<Fields extends FilterFields> = {
  readonly [Name in keyof Fields]?: Parameters<Fields[Name]['where']>[0] | null | undefined
}

export type FilterValues = ValuesOf<FilterFields>

declare global {
  export namespace PothosSchemaTypes {
    interface SchemaBuilder<Types extends SchemaTypes> {
      /**
       * Defines the filter of a list: `builder.filter('User', { fields: (t) => ({ name: t.string({ … }) }) })`.
       *
       * @param options.plural what it selects: `users`
       */
      filter<const M extends Model, Fields extends FilterFields>(
        model: M,
        options: {
          readonly plural: string
          readonly fields: (t: FilterFieldBuilder<M>) => Fields
        },
      ): Filter<ValuesOf<Fields>, M>
      /** Adds a field to a filter, for filters of two resources that refer to each other. */
      filterField<M extends Model>(
        filter: Filter<FilterValues, M>,
        name: string,
        field: (t: FilterFieldBuilder<M>) => AnyField,
      ): void
    }
  }
}

/** The filter of a list: the input type, and what its values mean. */
export class Filter<Values = FilterValues, M extends Model = Model> {
  readonly model: M
  readonly type: InputRef<Values>
  /** Read when a filter is checked first, because fields are still added before. */
  readonly rules = z.lazy(() => z.object(nullish(Object.fromEntries(this.ruleOfEach()))))
  private readonly fields: Map<string, AnyField>

  constructor(model: M, fields: FilterFields, implement: (fields: ReadonlyMap<string, AnyField>) => InputRef<Values>) {
    this.model = model
    this.fields = new Map(Object.entries(fields))
    this.type = implement(this.fields)
  }

  add(name: string, field: AnyField): void {
    this.fields.set(name, field)
  }

  /**
   * Whether a value makes the operation cost more, or the filter is rejected. The values are as the client sent them.
   */
  isScan(values: Values): boolean {
    return (
      this.sizeOrRejected(values) === undefined ||
      this.given(values).some(
        ({ field: { isScan, inner }, value }) =>
          isScan || (inner && filtersIn(value).some((filter) => inner.isScan(filter))),
      )
    )
  }

  /**
   * Which rows the values select, as Prisma Client takes it.
   *
   * @throws GatewayError BAD_USER_INPUT for a value that no row can have, or too many of them; FORBIDDEN for a field
   *   whose scope the viewer lacks
   */
  whereOf(values: Values, context: Context): object {
    const { maxConditions } = filterBounds
    if (this.sizeOf(values, 0) > maxConditions) {
      throw invalidField('filter', 'TOO_LONG', `must have at most ${maxConditions} conditions`)
    }
    parseInput(this.rules, values, 'filter')
    return this.checkedWhereOf(values, context)
  }

  /** The same for values that are checked, except for the scopes of the viewer. */
  checkedWhereOf(values: Values, context: Context): object {
    const conditions = this.given(values)
    for (const { field } of conditions) if (field.scope) requireScope(context.viewer, field.scope)
    const where = conditions.map(({ field, value }) => field.where(value, context))
    const [only] = where
    return only && where.length === 1 ? only : where.length === 0 ? {} : { AND: where }
  }

  /**
   * The number of conditions. A filter without any counts as one. Beyond the most that a filter may have, no more are
   * counted: each alias counts the same variable, before its cost is known.
   *
   * @throws GatewayError BAD_USER_INPUT for filters within filters beyond the depth
   */
  sizeOf(values: Values, depth: number): number {
    const { maxConditions, maxDepth } = filterBounds
    if (depth > maxDepth) throw invalidField('filter', 'OUT_OF_RANGE', `must be nested at most ${maxDepth} deep`)
    let size = 0
    for (const { field, value } of this.given(values)) {
      if (!field.inner) size += field.sizeOf?.(value) ?? 1
      else
        for (const filter of filtersIn(value)) {
          size += field.inner.sizeOf(filter, depth + 1)
          if (size > maxConditions) return size
        }
    }
    return Math.max(1, size)
  }

  /** The same for values as the client sent them. A filter that is rejected counts as the largest that is accepted. */
  countOf(values: Values): number {
    return this.sizeOrRejected(values) ?? filterBounds.maxConditions
  }

  /** The number of conditions; undefined if they are too many, or nested too deep. */
  private sizeOrRejected(values: Values): number | undefined {
    try {
      const size = this.sizeOf(values, 0)
      return size > filterBounds.maxConditions ? undefined : size
    } catch {
      return undefined
    }
  }

  private given(values: Values) {
    return [...this.fields].flatMap(([name, field]) => {
      const value: unknown = ownValue(values as object, name)
      return value == null ? [] : [{ field, value }]
    })
  }

  private ruleOfEach() {
    return [...this.fields].map(([name, { rule }]) => [name, rule] as const)
  }
}

const { prototype } = SchemaBuilder as { readonly prototype: PothosSchemaTypes.SchemaBuilder<AppTypes> }

prototype.filter = function filter(model, { plural, fields }) {
  const defined: Filter<ValuesOf<ReturnType<typeof fields>>, typeof model> = new Filter(
    model,
    fields(new FilterFieldBuilder(() => defined, dataModelOf(this))),
    (all) =>
      this.inputRef<ValuesOf<ReturnType<typeof fields>>>(`${model}Filter`).implement({
        description: `Selects ${plural}. An absent or null field does not restrict the list.`,
        fields: (t) =>
          Object.fromEntries(
            [...all].map(([name, { type, description }]) => [name, t.field({ type, description })]),
          ) as InputFieldsFromShape<
            AppTypes,
            RecursivelyNormalizeNullableFields<ValuesOf<ReturnType<typeof fields>>>,
            'InputObject'
          >,
      }),
  )
  return defined
}

prototype.filterField = function filterField(filter, name, field) {
  filter.add(name, field(new FilterFieldBuilder(() => filter, dataModelOf(this))))
}
