import { z } from 'zod'
import type { Scope } from '../../auth/scopes.ts'
import { type Condition, exists, isNull, isNullLongText } from '../../db/read/list.ts'
import type { Relation } from '../../db/read/relation.ts'
import type { Filter, FilterField } from './filter.ts'

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
  readonly where: (value: boolean) => Condition
}

/**
 * Adds a condition for each nullable field: `addNullConditions(ProfileFilter, ['url'])` adds `urlIsNull`.
 *
 * @param options `areLong`: the texts can be too long for an index, which has only their first 200 characters
 */
export function addNullConditions(
  filter: Filter,
  fields: readonly string[],
  { scope, areLong }: { readonly scope?: Scope; readonly areLong?: boolean } = {},
): void {
  for (const field of fields) {
    const where = areLong ? isNullLongText(field) : isNull(field)
    addCondition(filter, `${field}IsNull`, `Whether \`${field}\` is null.`, { scope, where })
  }
}

/** Adds the condition that a row has related rows: `addExistence(UserFilter, 'hasAccounts', { … })`. */
export function addExistence(
  filter: Filter,
  name: string,
  options: { readonly description: string; readonly scope: Scope; readonly relation: Relation; readonly from: string },
): void {
  const { description, scope, relation, from } = options
  addCondition(filter, name, description, { scope, where: exists(relation, from) })
}
