import { invalidField } from '@fusion-gateway/base'
import type { Order, Position } from '@fusion-gateway/prisma-trees'
import { isPossibleId } from '@fusion-gateway/sql'

export interface OrderedList {
  /** Its name in cursors and errors: `users`. */
  readonly name: string
  readonly order: Order
  readonly readCursor?: CursorReader | undefined
}

/** What a cursor says: where its row is in a list. */
export interface CursorParts {
  /** The name of the list. Undefined if the cursor does not say it. */
  readonly list: string | undefined
  /** The fields of the order, and their values as texts. */
  readonly fields: readonly string[]
  readonly texts: readonly string[]
  readonly id: string
}

/**
 * Reads cursors of a further format: such as an earlier one, of which clients still have cursors.
 *
 * @param content of a cursor, without its base64url
 * @returns undefined if it is of another format
 */
export type CursorReader = (content: string) => CursorParts | undefined

/**
 * The cursor of a row. It names the list and the order, and holds the position itself, so it stays valid when its row
 * is deleted: base64url of a JSON array, such as `["users","createdAt","1769846400000","usr_1"]`, with a name and a
 * text for each further field of the order.
 */
export function encodeCursor({ name, order }: OrderedList, row: { readonly id: string }): string {
  const values = ordersIn(order).flatMap((one) => [one.field, one.textOf(row)])
  return toBase64Url(JSON.stringify([name, ...values, row.id]))
}

function ordersIn(order: Order): readonly Order[] {
  return [order, ...(order.ties ?? [])]
}

/**
 * @param argument that has the cursor: `after`
 * @throws GatewayError BAD_USER_INPUT for the cursor of another list, or of the list in another order
 */
export function decodeCursor(cursor: string, { name, order, readCursor }: OrderedList, argument: string): Position {
  const parts = partsOf(cursor, readCursor)
  const isOther = () => invalidField(argument, 'INVALID_FORMAT', `is not a cursor of ${name}`)
  if (!parts || (parts.list ?? name) !== name) throw isOther()
  const orders = ordersIn(order)
  if (String(parts.fields) !== String(orders.map(({ field }) => field))) {
    throw invalidField(argument, 'INVALID_FORMAT', `is a cursor of ${name} in another order`)
  }
  const [value, ...ties] = orders.flatMap((one, index) => one.parameterOf(parts.texts[index] ?? '') ?? [])
  if (value === undefined || ties.length < orders.length - 1 || !isPossibleId(parts.id)) throw isOther()
  return { value, id: parts.id, ...(ties.length > 0 && { ties }) }
}

/** The parts of a cursor; undefined if it is of an unknown format. */
function partsOf(cursor: string, readOther: CursorReader | undefined): CursorParts | undefined {
  const content = Buffer.from(cursor, 'base64url').toString()
  // Base64 has several texts for one content, and ignores what it does not know.
  if (toBase64Url(content) !== cursor) return undefined
  const other = readOther?.(content)
  if (other) return other
  const [list, ...values] = parseTexts(content)
  const id = values.pop()
  if (list === undefined || id === undefined || values.length < 2 || values.length % 2 === 1) return undefined
  return {
    list,
    fields: values.filter((_, index) => index % 2 === 0),
    texts: values.filter((_, index) => index % 2 === 1),
    id,
  }
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
