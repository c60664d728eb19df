import { OperatorError } from '@fusion-gateway/base'
import { type Database, dataModel, tables } from '@fusion-gateway/database'
import type { Model } from '@fusion-gateway/prisma-trees'
import { type Statement, statement, write } from '@fusion-gateway/sql'

/**
 * The tables without statements of their own. A profile and its emails are deleted with the account, which has one, so
 * that no event is written for each. The few keys go with the row of the tenant, so that they are refused in the same
 * way until then; on Citus, each node has them.
 */
const deletedWithOthers: readonly Model[] = ['Profile', 'EmailRecord', 'ApiKey']

/** How many rows one statement deletes. An account has a profile with its emails, and a job up to 32 MiB. */
const pageSize = 500

/** The models whose rows are deleted page by page, those that refer to others first. */
const models = childrenFirst(
  (Object.keys(tables) as Model[]).filter((model) =>
    dataModel(model).columns.some(({ column }) => column === 'tenant_app_id'),
  ),
).filter((model) => !deletedWithOthers.includes(model))

function childrenFirst(all: readonly Model[]): Model[] {
  const sorted = new Set<Model>()
  function add(model: Model): void {
    for (const other of all) if (dataModel(other).parents.some((parent) => parent.model === model)) add(other)
    sorted.add(model)
  }
  for (const model of all) add(model)
  return [...sorted]
}

/** The statements about one table. Each names the tenant, so it runs where the rows are. */
const pages = models.map((model) => {
  const { name, columns } = dataModel(model)
  const table = `"${name}"`
  // Without an id, the rows are a part of others: those of a profile are deleted together.
  const id = columns.some(({ field }) => field === 'id') ? 'id' : 'profile_id'
  return {
    count: statement(`SELECT count(*) FROM ${table} WHERE tenant_app_id = $1`),
    /** Parameters: tenant, the id after which it begins. Result: the last id and the number of the rows. */
    remove: statement(
      `
      WITH removed AS (
        DELETE FROM ${table} WHERE tenant_app_id = $1 AND ${id} = ANY (ARRAY(
          SELECT ${id} FROM ${table} WHERE tenant_app_id = $1 AND ${id} > $2 ORDER BY ${id} LIMIT ${pageSize}))
        RETURNING ${id} AS id)
      SELECT max(id), count(*) FROM removed`,
      { mayWait: true },
    ),
  }
})

// The first deletion counts. Citus refuses now() in coalesce.
const begin = write(`
  UPDATE tenant_app SET deleting_since = least(deleting_since, now()) WHERE id = $1 AND suspended_at IS NOT NULL`)

const end = write('DELETE FROM tenant_app WHERE id = $1')

interface Progress {
  /** Called before each page with the number of rows that were deleted, and with that of all. */
  onProgress(done: number, total: number): void
}

/**
 * Deletes a suspended tenant with everything that belongs to it, in pages. Its row is the last, and takes along what a
 * transaction that was under way has still written. After an interruption it is called again.
 *
 * @throws OperatorError if the tenant is not suspended
 */
export async function deleteTenant(
  { sql }: Pick<Database, 'sql'>,
  tenantAppId: string,
  { onProgress }: Progress,
): Promise<void> {
  if ((await sql.execute(begin, [tenantAppId])) === 0) {
    throw new OperatorError(
      'Only a suspended tenant can be deleted. Suspend it: npm run fusion -- tenants suspend NAME',
    )
  }
  const counts = []
  for (const { count } of pages) counts.push(Number((await sql.query(count, [tenantAppId]))[0]?.[0]))
  const total = counts.reduce((sum, count) => sum + count, 0)
  let done = 0
  for (const { remove } of pages) {
    for (let last: string | undefined = ''; last !== undefined; ) {
      onProgress(done, total)
      const [removed, next] = await removePage(remove, last)
      done += removed
      last = next
    }
  }
  await sql.execute(end, [tenantAppId])
  onProgress(total, total)

  async function removePage(remove: Statement, after: string): Promise<[count: number, last: string | undefined]> {
    const [[last, count] = []] = await sql.query(remove, [tenantAppId, after])
    return [Number(count), last === null ? undefined : String(last)]
  }
}
