import { inputError } from './errors.ts'
import type { Row } from './tables.ts'

// What a cursor contains is the gateway's own affair, so the reference takes the cursors from the gateway: once, before
// the run, each list of each tenant is read whole in each order, and `learn` notes the cursor of each row. From then on
// a cursor in a response must be the one of its row, and a cursor in an argument stands for the place of its row in
// that list and order. The rows do not change meanwhile.

/** A list in an order: `users CREATED_AT ASC NAME DESC`. Cursors of one are not passed to another. */
export type ListName = string

export function listNameOf(field: string, orders: readonly { field: string; direction: string }[]): ListName {
  return [field, ...orders.map((order) => `${order.field} ${order.direction}`)].join(' ')
}

/** The cursors of the rows of lists. */
export interface Cursors {
  /** Notes the cursors of a whole list of a tenant. */
  learn(tenantAppId: string, list: ListName, edges: readonly { cursor: string; row: Row }[]): void
  /** The cursor of a row of a tenant. */
  cursorOf(tenantAppId: string, list: ListName, row: Row): string
  /**
   * The row that a cursor was learned of, of whatever tenant: a cursor is a place and says nothing of its row.
   *
   * @throws GraphQLError BAD_USER_INPUT if it is not a cursor of the list
   */
  rowOf(list: ListName, cursor: string, argument: string): Row
  /** All cursors of a list of a tenant. */
  all(tenantAppId: string, list: ListName): readonly string[]
}

export function createCursors(): Cursors {
  const byRow = new Map<string, string>()
  const rows = new Map<string, Row>()
  const lists = new Map<string, readonly string[]>()
  return {
    learn(tenantAppId, list, edges) {
      for (const { cursor, row } of edges) {
        byRow.set(`${tenantAppId} ${list} ${row.id}`, cursor)
        rows.set(`${list} ${cursor}`, row)
      }
      const cursors = edges.map(({ cursor }) => cursor)
      if (new Set(cursors).size < cursors.length) throw new Error(`Two rows of the list ${list} have the same cursor`)
      lists.set(`${tenantAppId} ${list}`, cursors)
    },
    cursorOf(tenantAppId, list, { id }) {
      const cursor = byRow.get(`${tenantAppId} ${list} ${id}`)
      if (cursor === undefined) throw new Error(`The cursor of ${id} in the list ${list} is not known`)
      return cursor
    },
    rowOf(list, cursor, argument) {
      const row = rows.get(`${list} ${cursor}`)
      if (!row) throw inputError(`${argument} is not a cursor of this list`)
      return row
    },
    all: (tenantAppId, list) => lists.get(`${tenantAppId} ${list}`) ?? [],
  }
}
