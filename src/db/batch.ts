import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { DataModel, Table } from './data-model.ts'
import { repeated } from './named-statements.ts'
import { type Rows, type Selection, select } from './record.ts'

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

/** A read that was made ready. */
interface Plan {
  readonly statement: string
  readonly selection: Selection
}

/**
 * The batched read, over the driver adapter that Prisma Client itself uses. It passes Prisma's query engine by, which
 * costs several times the statement; and `= ANY($2)` is one statement text for any number of keys, where `IN` is many.
 */
export function createBatchedRead(
  sql: SqlQueryable,
  model: DataModel,
  onBatch: (size: number) => void = () => undefined,
): BatchedRead {
  const plans = new WeakMap<ReadonlySet<string>, Map<string, Plan>>()

  function planFor(modelName: string, by: string, names: ReadonlySet<string> | undefined): Plan {
    const known = plans.get(names ?? everything) ?? new Map<string, Plan>()
    plans.set(names ?? everything, known)
    const key = `${modelName}.${by}`
    const plan = known.get(key) ?? createPlan(model(modelName), by, names)
    known.set(key, plan)
    return plan
  }

  return async (modelName, by, tenantAppId, keys, names) => {
    onBatch(keys.length)
    const { statement, selection } = planFor(modelName, by, names)
    const { rows } = await sql.queryRaw({
      sql: statement,
      args: [tenantAppId, keys],
      argTypes: [
        { scalarType: 'string', arity: 'scalar' },
        { scalarType: 'string', arity: 'list' },
      ],
    })
    return rows.map(selection.toRecord) as Rows[typeof modelName][]
  }
}

/** Stands for all fields. */
const everything: ReadonlySet<string> = new Set()

function createPlan(table: Table, by: string, names: ReadonlySet<string> | undefined): Plan {
  const selection = select(table, names)
  const statement =
    `SELECT ${selection.list} FROM "${table.name}" ` +
    `WHERE "tenant_app_id" = $1 AND "${table.columnOf(by).column}" = ANY($2) ORDER BY "created_at", "id"`
  return { statement: repeated(statement, { isShort: true }), selection }
}
