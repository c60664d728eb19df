import { z } from 'zod'
import type { Scope } from '../../auth/scopes.ts'
import type { Condition } from '../../db/read/list.ts'
import { some } from '../../db/read/list.ts'
import type { Relation } from '../../db/read/relation.ts'
import { type Filter, type FilterField, filterBounds, filtersIn } from './filter.ts'

// Filters within filters: `and`, `or`, `not`, and conditions on related rows.

interface InnerOptions {
  readonly description: string
  readonly isList: boolean
  readonly scope?: Scope
  readonly isScan?: boolean
  /** The condition that those of the filters in a value become. */
  readonly combine: (conditions: readonly Condition[]) => Condition
}

/** A field whose value is a filter, or a list of filters. */
function innerField(inner: Filter, { isList, combine, ...options }: InnerOptions): FilterField<object> {
  return {
    ...options,
    inner,
    type: isList ? [inner.type] : inner.type,
    rule: isList ? z.array(inner.rules) : inner.rules,
    where: (value, context) =>
      combine(filtersIn(value).map((filter) => ({ is: 'all', of: inner.checkedConditionsOf(filter, context) }))),
  }
}

/** Adds `and`, `or` and `not` to a filter. */
export function addLogic(filter: Filter): void {
  filter.add(
    'and',
    innerField(filter, {
      description: `All of these filters select the row; an empty list selects everything. ${filterBounds}`,
      isList: true,
      combine: (of) => ({ is: 'all', of }),
    }),
  )
  filter.add(
    'or',
    innerField(filter, {
      description: 'At least one of these filters selects the row; an empty list selects nothing.',
      isList: true,
      isScan: true,
      combine: (of) => ({ is: 'any', of }),
    }),
  )
  filter.add(
    'not',
    innerField(filter, {
      description: 'The filter does not select the row. An unknown value meets no condition, so `not` selects its row.',
      isList: false,
      isScan: true,
      combine: (of) => ({ is: 'not', of: { is: 'all', of } }),
    }),
  )
}

interface RelationOptions {
  readonly description: string
  /** The scope of the field that returns the related rows. */
  readonly scope: Scope
  readonly relation: Relation
  /** The field that holds the id that the relation starts from. */
  readonly from: string
}

/**
 * Adds a condition on related rows, which another filter selects: `addRelation(UserFilter, 'account', AccountFilter, {
 * … })`.
 */
export function addRelation(
  filter: Filter,
  name: string,
  inner: Filter,
  { description, scope, relation, from }: RelationOptions,
): void {
  const combine = (of: readonly Condition[]) => some(relation, from)({ is: 'all', of })
  filter.add(
    name,
    innerField(inner, {
      description: `${description} Needs the scope \`${scope}\`.`,
      scope,
      isList: false,
      isScan: true,
      combine,
    }),
  )
}
