import { isServerLost } from './errors.ts'
import type { Sql } from './sql.ts'

/**
 * Works for tenants, one after the other. Each statement of the work names its tenant, so that it runs on the one
 * server that has the tenant's rows. A tenant whose work fails does not keep it from those after it, because they would
 * never be reached if it failed each time. The tenants of each node of a distributed database are a line of their own.
 *
 * @param tenants rows that begin with the id of a tenant
 * @param work returns how many rows it has changed, by statements that it sends with the `Sql` that it gets
 * @returns how many rows were changed
 * @throws the first error of the work, after all tenants. No tenant of a server is served after one for whom no
 *   statement has reached it
 */
export async function sumOfTenants(
  sql: Sql,
  tenants: readonly unknown[][],
  work: (tenantAppId: string, sql: Sql) => Promise<number>,
): Promise<number> {
  let sum = 0
  const errors: unknown[] = []
  async function serve(ids: readonly string[]): Promise<void> {
    for (const tenantAppId of ids) {
      try {
        const changed = await work(tenantAppId, sql.of(tenantAppId))
        sum += changed
      } catch (error) {
        errors.push(error)
        if (isServerLost(error)) return
      }
    }
  }
  const lines = Map.groupBy(
    tenants.map(([id]) => String(id)),
    (tenantAppId) => sql.nodeOf(tenantAppId),
  )
  await Promise.all([...lines.values()].map(serve))
  if (errors.length > 0) throw errors[0]
  return sum
}

/** Works in batches until one is not full. The work returns how many rows it has changed, and so does this. */
export async function sumOfBatches(batchSize: number, work: () => Promise<number>): Promise<number> {
  let sum = 0
  for (let batch = batchSize; batch === batchSize; sum += batch) batch = await work()
  return sum
}
