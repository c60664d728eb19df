import type { EnumRef, InputType } from '@pothos/core'
import { z } from 'zod'
import { requireScope, type Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import type { Condition } from '../../db/read/list.ts'
import { parseInput } from '../../input/parse-input.ts'
import { count, filterText, nullish } from '../../input/rules.ts'
import { builder } from './builder.ts'

type Types = (typeof builder)['$inferSchemaTypes']

interface FieldOptions<Value> {
  readonly description: string
  readonly where: (value: Value, context: Context) => Condition
  /** The scope that a viewer needs to filter by the field, because a search that finds a row reveals its value. */
  readonly scope?: Scope
  /** Whether a statement may read many rows that it does not return. Such an operation costs more. */
  readonly isScan?: boolean
}

/** A field of a filter: its input, its checks, and the condition that it becomes. */
interface FilterField<Value> extends FieldOptions<Value> {
  readonly type: InputType<Types>
  readonly rule: z.ZodType
}

const anything = z.any()

/** The kinds of fields that a filter can have, by the type of their values. */
const kinds = {
  text: (options: FieldOptions<string>): FilterField<string> => ({ ...options, type: 'String', rule: filterText }),
  id: (options: FieldOptions<string>): FilterField<string> => ({ ...options, type: 'ID', rule: filterText }),
  boolean: (options: FieldOptions<boolean>): FilterField<boolean> => ({ ...options, type: 'Boolean', rule: anything }),
  time: (options: FieldOptions<Date>): FilterField<Date> => ({ ...options, type: 'DateTime', rule: anything }),
  count: (options: FieldOptions<number>): FilterField<number> => ({ ...options, type: 'SafeInt', rule: count }),
  /** One of the values of an enum. */
  value: <Value extends string>(type: EnumRef<Types, Value>, options: FieldOptions<Value>): FilterField<Value> => ({
    ...options,
    type,
    rule: anything,
  }),
}

// biome-ignore lint/suspicious/noExplicitAny: the fields of a filter have values of different types.
type FilterFields = Readonly<Record<string, FilterField<any>>>

/** The values of a filter. Absent and null do not restrict the list. */
type FilterValues<Fields extends FilterFields> = {
  readonly [Name in keyof Fields]?: Parameters<Fields[Name]['where']>[0] | null | undefined
}

/**
 * Defines the filter of a list: `defineFilter('User', 'users', (f) => ({ name: f.text({ … }) }))` ⇒ the input type, and what
 * its values mean.
 */
export function defineFilter<Fields extends FilterFields>(
  typename: string,
  plural: string,
  fieldsOf: (f: typeof kinds) => Fields,
) {
  const fields = fieldsOf(kinds)
  const entries = Object.entries(fields)
  const rules = z.object(nullish(Object.fromEntries(entries.map(([field, { rule }]) => [field, rule]))))

  return {
    type: builder.inputRef<FilterValues<Fields>>(`${typename}Filter`).implement({
      description: `Selects ${plural}. An absent or null field does not restrict the list.`,
      fields: (t) =>
        Object.fromEntries(
          entries.map(([field, { type, description }]) => [field, t.field({ type, description })]),
        ) as never,
    }),

    /** Whether a value makes the operation cost more. */
    isScan: (values: FilterValues<Fields>) => entries.some(([field, { isScan }]) => isScan && values[field] != null),

    /**
     * The conditions of values.
     *
     * @throws GatewayError BAD_USER_INPUT for a value that no row can have; FORBIDDEN for a field whose scope the viewer lacks
     */
    conditionsOf(values: FilterValues<Fields>, context: Context): Condition[] {
      parseInput(rules, values, 'filter')
      const given = entries.filter(([field]) => values[field] != null)
      for (const [, { scope }] of given) if (scope) requireScope(context.viewer, scope)
      return given.map(([field, { where }]) => where(values[field], context))
    },
  }
}
