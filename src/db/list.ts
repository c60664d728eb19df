import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { columnType } from './column-types.ts'
import type { DataModel, Table } from './data-model.ts'
import { repeated } from './named-statements.ts'
import { type Rows, type Selection, select } from './record.ts'

/** What a row of a list must be. `contains` looks for a part of a text, in upper or lower case. */
export interface Condition {
  readonly field: string
  readonly is: '=' | '<' | '>' | '>=' | 'in' | 'contains'
  readonly value: string | Date | readonly string[]
}

/** A place in a list that is ordered by (time, id). */
export interface Place {
  readonly time: Date
  readonly id: string
}

/** Rows to read from a list in the order (time, id): never by offset, so that a page costs the same however deep it lies. */
export interface ListRequest {
  readonly conditions: readonly Condition[]
  readonly orderBy: 'createdAt' | 'updatedAt'
  readonly direction: 'ASC' | 'DESC'
  /** Only rows strictly above or below these places. */
  readonly above?: Place | undefined
  readonly below?: Place | undefined
  readonly limit: number
}

/** Reads lists of one tenant's rows. */
export interface ListRead {
  /**
   * The rows of a list: one statement. They equal those of Prisma's `findMany`, value for value (test/lists.test.ts).
   *
   * @param names when given, the rows hold the fields of these names, their ids and `createdAt`, and nothing else
   */
  rows<Model extends keyof Rows>(
    model: Model,
    tenantAppId: string,
    request: ListRequest,
    names?: ReadonlySet<string>,
  ): Promise<Rows[Model][]>
  /** How many rows meet the conditions: one statement. */
  count(model: keyof Rows, tenantAppId: string, conditions: readonly Condition[]): Promise<number>
}

/** The reading of lists, over the driver adapter that Prisma Client itself uses, as the batched read is. */
export function createListRead(sql: SqlQueryable, model: DataModel): ListRead {
  const selections = new WeakMap<ReadonlySet<string>, Map<string, Selection>>()

  function selectionOf(table: Table, names: ReadonlySet<string> = everything): Selection {
    const known = selections.get(names) ?? new Map<string, Selection>()
    selections.set(names, known)
    const selection = known.get(table.name) ?? select(table, names === everything ? undefined : names, ['createdAt'])
    known.set(table.name, selection)
    return selection
  }

  function query(text: string, args: readonly (string | readonly string[])[], isShort = false) {
    return sql.queryRaw({
      sql: repeated(text, { isShort }),
      args: [...args],
      argTypes: args.map((arg) => ({ scalarType: 'string', arity: typeof arg === 'string' ? 'scalar' : 'list' })),
    })
  }

  return {
    async rows(modelName, tenantAppId, request, names) {
      const table = model(modelName)
      const { list, toRecord } = selectionOf(table, names)
      const { where, args } = whereClause(table, tenantAppId, request)
      const time = table.columnOf(request.orderBy).column
      const { rows } = await query(
        `SELECT ${list} FROM "${table.name}" WHERE ${where} ` +
          `ORDER BY "${time}" ${request.direction}, "id" ${request.direction} LIMIT ${request.limit}`,
        args,
        // Without conditions an index leads to the page; a text in the middle of another is looked for in every row.
        request.conditions.length === 0,
      )
      return rows.map(toRecord) as Rows[typeof modelName][]
    },

    async count(modelName, tenantAppId, conditions) {
      const table = model(modelName)
      const { where, args } = whereClause(table, tenantAppId, { conditions, orderBy: 'createdAt' })
      const { rows } = await query(`SELECT count(*) FROM "${table.name}" WHERE ${where}`, args)
      return Number(rows[0]?.[0])
    },
  }
}

/** Stands for all fields. */
const everything: ReadonlySet<string> = new Set()

function whereClause(
  table: Table,
  tenantAppId: string,
  { conditions, orderBy, above, below }: Pick<ListRequest, 'conditions' | 'orderBy' | 'above' | 'below'>,
) {
  const args: (string | readonly string[])[] = [tenantAppId]
  const given = (value: Condition['value'], type: string) => {
    args.push(value instanceof Date ? value.toISOString() : value)
    return `$${args.length}::${type}`
  }
  const parts = ['"tenant_app_id" = $1']
  for (const { field, is, value } of conditions) {
    const { column, type } = table.columnOf(field)
    const name = columnType(type)
    if (is === 'in') parts.push(`"${column}" = ANY(${given(value, `${name}[]`)})`)
    else if (is === 'contains') parts.push(`"${column}" ILIKE ${given(`%${escapeLike(String(value))}%`, name)}`)
    else parts.push(`"${column}" ${is} ${given(value, name)}`)
  }
  const time = table.columnOf(orderBy).column
  for (const [sign, place] of [['>', above] as const, ['<', below] as const]) {
    if (place) parts.push(`("${time}", "id") ${sign} (${given(place.time, 'timestamptz')}, ${given(place.id, 'text')})`)
  }
  return { where: parts.join(' AND '), args }
}

/** To LIKE `50%` would be every text with a 50 in it. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
