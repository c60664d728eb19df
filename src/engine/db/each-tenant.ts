import { isServerLost } from './errors.ts'
import type { Sql } from './sql.ts'
import type { Parameter, Statement } from './statement.ts'

/** The tenants that have work: a statement that returns their ids. */
interface TenantList {
  readonly list: Statement
  readonly parameters?: readonly Parameter[]
}

/**
 * Works for all tenants, one after the other. Each statement of the work names its tenant, so that it runs on the one
 * server that has the tenant's rows. A tenant whose work fails does not keep it from those after it, because they would
 * never be reached if it failed each time.
 *
 * @param work returns how many rows it has changed
 * @returns how many rows were changed
 * @throws the first error of the work, after all tenants; at once if no statement reaches the server
 */
export async function sumOfTenants(
  sql: Sql,
  { list, parameters = [] }: TenantList,
  work: (tenantAppId: string) => Promise<number>,
): Promise<number> {
  let sum = 0
  const errors: unknown[] = []
  for (const [tenantAppId] of await sql.query(list, parameters)) {
    try {
      sum += await work(String(tenantAppId))
    } catch (error) {
      if (isServerLost(error)) throw error
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
  return sum
}

/**
 * Works in batches until one is not full.
 *
 * @param work returns how many rows it has changed
 * @returns how many rows were changed
 */
export async function sumOfBatches(batchSize: number, work: () => Promise<number>): Promise<number> {
  let sum = 0
  for (let batch = batchSize; batch === batchSize; sum += batch) batch = await work()
  return sum
}
