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
 *
 * @param names when given, the rows hold the fields of these names and the ids, and nothing else
 */
export type BatchedRead = <Model extends keyof Rows>(
  model: Model,
  by: keyof Rows[Model] & string,
  tenantAppId: string,
  keys: readonly string[],
  names?: ReadonlySet<string>,
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
  const plans = new WeakMap<ReadonlySet<string>, Map<string, Plan>>()

  function planFor(modelName: string, by: string, names: ReadonlySet<string>): Plan {
    const known = plans.get(names) ?? new Map<string, Plan>()
    plans.set(names, known)
    const key = `${modelName}.${by}`
    const plan = known.get(key) ?? createPlan(model(modelName), by, names)
    known.set(key, plan)
    return plan
  }

  return async (modelName, by, tenantAppId, keys, names = everything) => {
    const { statement, columns } = planFor(modelName, by, names)
    const { rows } = await sql.queryRaw({
      sql: statement,
      args: [tenantAppId, keys],
      argTypes: [
        { scalarType: 'string', arity: 'scalar' },
        { scalarType: 'string', arity: 'list' },
      ],
    })
    return rows.map((row) => toRecord(columns, row)) as Rows[typeof modelName][]
  }
}

/** Stands for all fields. */
const everything: ReadonlySet<string> = new Set()

/** A read that was made ready: its statement, and how each column of its answer is read. */
interface Plan {
  readonly statement: string
  readonly columns: readonly { readonly field: string; readonly decode: Decoder }[]
}

function createPlan(table: Table, by: string, names: ReadonlySet<string>): Plan {
  const columns = table.columns.filter(({ field }) => names === everything || isKey(field) || names.has(field))
  const list = columns.map(({ column }) => `"${column}"`).join(', ')
  const statement =
    `SELECT ${list} FROM "${table.name}" ` +
    `WHERE "tenant_app_id" = $1 AND "${table.columnOf(by).column}" = ANY($2) ORDER BY "created_at", "id"`
  return {
    statement: repeated(statement),
    columns: columns.map(({ field, type }) => ({ field, decode: decoders[type] ?? asItIs })),
  }
}

/** What every row has: what it is found by, and what it points to. */
function isKey(field: string): boolean {
  return field === 'id' || field.endsWith('Id')
}

function toRecord(columns: Plan['columns'], row: readonly unknown[]): Record<string, unknown> {
  const record: Record<string, unknown> = {}
  for (let index = 0; index < columns.length; index += 1) {
    const value = row[index]
    const { field, decode } = columns[index] as Plan['columns'][number]
    record[field] = value === null ? null : decode(value)
  }
  return record
}
