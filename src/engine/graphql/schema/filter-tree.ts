import { z } from 'zod'
import type { Scope } from '../../auth/scopes.ts'
import { dataModel, type Model } from '../../db/data-model.ts'
import { unmet, type Where } from '../../db/read/where.ts'
import { type Filter, type FilterField, filterBounds, filtersIn } from './filter.ts'

// Filters within filters: `and`, `or`, `not`, and conditions on related rows.

interface InnerOptions {
  readonly description: string
  readonly isList: boolean
  readonly scope?: Scope
  readonly isScan?: boolean
  /** Which rows are selected, for those that the filters in a value select. */
  readonly combine: (selected: object[]) => Where
}

/** A field whose value is a filter, or a list of filters. */
function innerField(inner: Filter, { isList, combine, ...options }: InnerOptions): FilterField<object> {
  return {
    ...options,
    inner,
    type: isList ? [inner.type] : inner.type,
    rule: isList ? z.array(inner.rules) : inner.rules,
    where: (value, context) => combine(filtersIn(value).map((filter) => inner.checkedWhereOf(filter, context))),
  }
}

/** Adds `and`, `or` and `not` to a filter. */
export function addLogic(filter: Filter): void {
  filter.add(
    'and',
    innerField(filter, {
      description: `All of these filters select the row; an empty list selects everything. ${filterBounds}`,
      isList: true,
      combine: (selected) => ({ AND: selected }),
    }),
  )
  filter.add(
    'or',
    innerField(filter, {
      description: 'At least one of these filters selects the row; an empty list selects nothing.',
      isList: true,
      isScan: true,
      combine: (selected) => ({ OR: selected }),
    }),
  )
  filter.add(
    'not',
    innerField(filter, {
      description: 'The filter does not select the row. An unknown value meets no condition, so `not` selects its row.',
      isList: false,
      isScan: true,
      combine: (selected) => unmet(dataModel, filter.model, { AND: selected }),
    }),
  )
}

interface RelationOptions<M extends Model> {
  readonly description: string
  /** The scope of the field that returns the related rows. */
  readonly scope: Scope
  /** Which rows are selected, for the related rows that the inner filter selects: `(user) => ({ user })`. */
  readonly where: (related: object) => Where<M>
}

/**
 * Adds a condition on related rows, which another filter selects: `addRelation(UserFilter, 'account', AccountFilter, {
 * … })`.
 */
export function addRelation<M extends Model>(
  filter: Filter,
  name: string,
  inner: Filter,
  { description, scope, where }: RelationOptions<M>,
): void {
  filter.add(
    name,
    innerField(inner, {
      description: `${description} Needs the scope \`${scope}\`.`,
      scope,
      isList: false,
      isScan: true,
      combine: (selected) => where({ AND: selected }),
    }),
  )
}
