import { isPossibleId } from '../../db/ids.ts'
import type { Order } from '../../db/read/order.ts'
import type { Position } from '../../db/read/page.ts'
import { invalidField } from '../../errors.ts'

/** A list as its cursors know it. */
export interface OrderedList {
  /** Its name in cursors and errors: `users`. */
  readonly name: string
  readonly order: Order
}

/**
 * The cursor of a row. It names the list and the order, and holds the position itself, so it stays valid when its row
 * is deleted: base64url of a JSON array, such as `["users","createdAt","1769846400000","usr_1"]`.
 */
export function encodeCursor({ name, order }: OrderedList, row: { readonly id: string }): string {
  return toBase64Url(JSON.stringify([name, order.field, order.textOf(row as never), row.id]))
}

/**
 * Reads the position of a cursor.
 *
 * @param argument that has the cursor: `after`
 * @throws GatewayError BAD_USER_INPUT for the cursor of another list, or of the list in another order
 */
export function decodeCursor(cursor: string, { name, order }: OrderedList, argument: string): Position {
  const [list, field, text = '', id = ''] = partsOf(cursor)
  if (field === undefined || (list ?? name) !== name) {
    throw invalidField(argument, 'INVALID_FORMAT', `is not a cursor of ${name}`)
  }
  if (field !== order.field) throw invalidField(argument, 'INVALID_FORMAT', `is a cursor of ${name} in another order`)
  const value = order.parameterOf(text)
  if (value === undefined || !isPossibleId(id)) {
    throw invalidField(argument, 'INVALID_FORMAT', `is not a cursor of ${name}`)
  }
  return { value, id }
}

type Parts =
  | readonly [list?: string, field?: string, text?: string, id?: string]
  | readonly [list: undefined, ...string[]]

/**
 * The parts of a cursor; none if it is of another format. Cursors of version 0.1.0, which clients may have kept, do not
 * name their list.
 */
function partsOf(cursor: string): Parts {
  const content = Buffer.from(cursor, 'base64url').toString()
  // Base64 has several texts for one content, and ignores what it does not know.
  if (toBase64Url(content) !== cursor) return []
  const [, time, id] = /^(-?\d+) (.*)$/su.exec(content) ?? []
  if (time !== undefined && id !== undefined) return [undefined, 'createdAt', time, id]
  const values = parseTexts(content)
  const parts = values.length === 3 ? [undefined, ...values] : values
  return parts.length === 4 ? (parts as Parts) : []
}

/** A JSON array of texts; empty if it is anything else. */
function parseTexts(content: string): readonly string[] {
  try {
    const values: unknown = JSON.parse(content)
    return Array.isArray(values) && values.every((value) => typeof value === 'string') ? values : []
  } catch {
    return []
  }
}

function toBase64Url(content: string): string {
  return Buffer.from(content).toString('base64url')
}
