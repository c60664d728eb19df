import type { DataModel, Model } from '../data-model.ts'
import { type Condition, createClause } from './list.ts'
import type { Ownership } from './owner.ts'

/** As many rows of an owner are counted for an estimate. */
export const maxCounted = 10_000

/** The statement that counts the rows of an owner, up to one more than the maximum. */
export function ownRowsText(model: DataModel, of: Model, owned: Ownership) {
  const { parts, parameters } = createClause(model, of, owned, [])
  const own = `SELECT FROM "${model(of).name}" WHERE ${parts.join(' AND ')} LIMIT ${maxCounted + 1}`
  return { text: `SELECT count(*) FROM (${own}) AS own`, parameters }
}

/**
 * The statement that estimates the rows of a tenant from the part of a sample of the table, or of the tenant's
 * partition, that they are. Null if the sample has too few: PostgreSQL would then take the mean of other tenants.
 */
export function shareText(model: DataModel, of: Model, tenantAppId: string) {
  const text = `
    SELECT sum(c.reltuples * s.most_common_freqs[array_position(s.most_common_vals::text::text[], $2)])::bigint
    FROM pg_partition_tree($1::regclass) AS leaf JOIN pg_class AS c ON c.oid = leaf.relid
    JOIN pg_stats AS s ON s.schemaname = 'public' AND s.tablename = c.relname AND s.attname = 'tenant_app_id' AND NOT s.inherited
    WHERE leaf.isleaf AND c.reltuples > 0`
  return { text, parameters: [`"${model(of).name}"`, tenantAppId] }
}

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
