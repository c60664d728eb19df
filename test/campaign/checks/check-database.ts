import pg from 'pg'
import { openDatabase } from '../../../src/database.ts'
import { locationOf } from '../../support/settings.ts'
import { checkJobHistory } from '../job-history.ts'
import { jobTypes } from '../ledger.ts'

/** Columns whose values have the mark of their tenant. */
const markedColumns = [
  ['"user"', 'email'],
  ['account', 'platform_account_id'],
  ['profile', 'username'],
  ['email_record', 'value'],
  ['job', `payload->>'mark'`],
]

/** Checks the tenants of all rows, and the histories of all jobs. Returns a description of each problem. */
export async function checkDatabase(url: string): Promise<{ readonly attempts: number; readonly problems: string[] }> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  const problems: string[] = []
  for (const [table, column] of markedColumns) {
    const { rows } = await session.query(
      `SELECT id, tenant_app_id, ${column} AS text FROM ${table}
       WHERE ${column} ~ '_of\\d+_' AND tenant_app_id <> 'ten' || substring(${column} FROM '_of\\d+_')`,
    )
    problems.push(...rows.map(({ id, tenant_app_id, text }) => `${id} of ${tenant_app_id} has ${text}`))
  }
  await session.end()
  const database = await openDatabase(locationOf(url))
  const history = await checkJobHistory(database, [...jobTypes])
  await database.close()
  return { attempts: history.attempts, problems: [...problems, ...history.problems] }
}
