import { invalidField } from '@fusion-gateway/base'
import type { Order, Position } from '@fusion-gateway/prisma-trees'
import { isPossibleId } from '@fusion-gateway/sql'

export interface OrderedList {
  /** Its name in cursors and errors: `users`. */
  readonly name: string
  readonly order: Order
  /** Whether gateways of version 0.1.0 read its cursors too, which did not name lists. */
  readonly isUnnamed?: boolean
}

/**
 * The cursor of a row. It names the list and the order, and holds the position itself, so it stays valid when its row
 * is deleted: base64url of a JSON array, such as `["users","createdAt","1769846400000","usr_1"]`, with a name and a
 * text for each further field of the order.
 */
export function encodeCursor({ name, order, isUnnamed }: OrderedList, row: { readonly id: string }): string {
  if (isUnnamed && !order.ties) {
    const text = order.textOf(row)
    return toBase64Url(order.field === 'createdAt' ? `${text} ${row.id}` : JSON.stringify([order.field, text, row.id]))
  }
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
export function decodeCursor(cursor: string, { name, order }: OrderedList, argument: string): Position {
  const parts = partsOf(cursor)
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

interface Parts {
  readonly list: string | undefined
  readonly fields: readonly string[]
  readonly texts: readonly string[]
  readonly id: string
}

/**
 * The parts of a cursor; undefined if it is of another format. Cursors of version 0.1.0, which clients may have kept,
 * do not name their list.
 */
function partsOf(cursor: string): Parts | undefined {
  const content = Buffer.from(cursor, 'base64url').toString()
  // Base64 has several texts for one content, and ignores what it does not know.
  if (toBase64Url(content) !== cursor) return undefined
  const [, time, id] = /^(-?\d+) (.*)$/su.exec(content) ?? []
  if (time !== undefined && id !== undefined) return { list: undefined, fields: ['createdAt'], texts: [time], id }
  const values = parseTexts(content)
  const named = values.length === 3 ? values : values.slice(1)
  const last = named.at(-1)
  if (last === undefined || named.length < 3 || named.length % 2 === 0) return undefined
  const inner = named.slice(0, -1)
  return {
    list: values.length === 3 ? undefined : values[0],
    fields: inner.filter((_, index) => index % 2 === 0),
    texts: inner.filter((_, index) => index % 2 === 1),
    id: last,
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
