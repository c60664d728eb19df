import type { DataModel, Model } from '../data-model.ts'
import { type Condition, createClause } from './list.ts'
import type { Ownership } from './owner.ts'

/** The statement whose plan has the number of rows that PostgreSQL expects to meet the conditions. */
export function estimateText(model: DataModel, of: Model, owned: Ownership, conditions: readonly Condition[]) {
  const clause = createClause(model, of, owned, conditions)
  const text = `EXPLAIN (FORMAT JSON) SELECT 1 FROM "${model(of).name}" WHERE ${clause.parts.join(' AND ')}`
  return { text, parameters: clause.parameters }
}

/** The number of rows in a plan. */
export function rowsOfPlan(plan: unknown): number {
  const [{ Plan: root }] = (typeof plan === 'string' ? JSON.parse(plan) : plan) as [{ Plan: { 'Plan Rows': number } }]
  return root['Plan Rows']
}

/**
 * Whether PostgreSQL would estimate a condition from values that other tenants have. Its statistics cover a table, and
 * name the most frequent texts, so that an estimate would tell whether others have a text. The statistics of times,
 * numbers, enums and missing values name nothing of others.
 */
export function usesTextsOfOthers(condition: Condition, model: DataModel, of: Model): boolean {
  switch (condition.is) {
    case 'all':
    case 'any':
      return condition.of.some((one) => usesTextsOfOthers(one, model, of))
    case 'not':
      return usesTextsOfOthers(condition.of, model, of)
    case 'some':
      return usesTextsOfOthers(condition.where, model, condition.relation.model)
    case 'contains':
    case 'long text':
    case 'long text in':
      return true
    case 'null':
    case 'long text null':
      return false
    default:
      return model(of).columnOf(condition.field).type === 'String'
  }
}
