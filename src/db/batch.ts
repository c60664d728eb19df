import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { DataModel, Table } from './data-model.ts'
import type { Account, EmailRecord, Job, Profile, User } from './generated/prisma/client.ts'
import { repeated } from './named-statements.ts'

/** The models that are read in batches, as Prisma types their rows. */
export interface Rows {
  User: User
  Account: Account
  Profile: Profile
  EmailRecord: EmailRecord
  Job: Job
}

/**
 * Reads all rows of one tenant whose `by` is one of `keys`, oldest first: one statement, whatever the number of keys.
 * The rows equal those of Prisma's `findMany`, value for value (test/batched-read.test.ts).
 */
export type BatchedRead = <Model extends keyof Rows>(
  model: Model,
  by: keyof Rows[Model] & string,
  tenantAppId: string,
  keys: readonly string[],
) => Promise<Rows[Model][]>

type Decoder = (value: unknown) => unknown

/** What a driver adapter hands over, as Prisma Client would hand it on. Null is kept before these are asked. */
const decoders: Record<string, Decoder> = {
  BigInt: (value) => BigInt(value as string),
  DateTime: (value) => new Date(value as string),
  Json: (value) => JSON.parse(value as string),
}

const asItIs: Decoder = (value) => value

/**
 * The batched read, over the driver adapter that Prisma Client itself uses. It passes Prisma's query engine by, which
 * costs several times the statement; and `= ANY($2)` is one statement text for any number of keys, where `IN` is many.
 */
export function createBatchedRead(sql: SqlQueryable, model: DataModel): BatchedRead {
  const statements = new Map<string, string>()

  return async (modelName, by, tenantAppId, keys) => {
    const table = model(modelName)
    const name = `${modelName}.${by}`
    let statement = statements.get(name)
    if (!statement) {
      statement = repeated(selectByKeys(table, by))
      statements.set(name, statement)
    }
    const { rows } = await sql.queryRaw({
      sql: statement,
      args: [tenantAppId, keys],
      argTypes: [
        { scalarType: 'string', arity: 'scalar' },
        { scalarType: 'string', arity: 'list' },
      ],
    })
    return rows.map((row) => toRecord(table, row)) as Rows[typeof modelName][]
  }
}

function selectByKeys(table: Table, by: string): string {
  const columns = table.columns.map(({ column }) => `"${column}"`).join(', ')
  return (
    `SELECT ${columns} FROM "${table.name}" ` +
    `WHERE "tenant_app_id" = $1 AND "${table.columnOf(by).column}" = ANY($2) ORDER BY "created_at", "id"`
  )
}

function toRecord(table: Table, row: readonly unknown[]): Record<string, unknown> {
  const record: Record<string, unknown> = {}
  table.columns.forEach(({ field, type }, index) => {
    const value = row[index]
    record[field] = value === null ? null : (decoders[type] ?? asItIs)(value)
  })
  return record
}
