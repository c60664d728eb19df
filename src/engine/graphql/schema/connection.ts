import { isPossibleId } from '../../db/ids.ts'
import type { Order } from '../../db/read/order.ts'
import type { PageRequest, Position } from '../../db/read/page.ts'
import { type FieldError, invalidField, invalidInput } from '../../errors.ts'

export const maxPageSize = 500
export const defaultPageSize = 20

export interface ConnectionArguments {
  readonly first?: number | null | undefined
  readonly last?: number | null | undefined
  readonly after?: string | null | undefined
  readonly before?: string | null | undefined
}

/**
 * Reads the size of a page, and whether it is the end of the list.
 *
 * @throws GatewayError BAD_USER_INPUT if a size is not 1–500, or both sizes are given
 */
export function readPageSize({ first, last }: ConnectionArguments): Pick<PageRequest, 'size' | 'fromEnd'> {
  const errors: FieldError[] = []
  for (const [field, size] of Object.entries({ first, last })) {
    if (size != null && (size < 1 || size > maxPageSize)) {
      errors.push({ field, code: 'OUT_OF_RANGE', message: `must be from 1 to ${maxPageSize}` })
    }
  }
  if (first != null && last != null) {
    errors.push({ field: 'last', code: 'OUT_OF_RANGE', message: 'cannot be given together with first' })
  }
  if (errors.length > 0) throw invalidInput(errors)
  return { size: first ?? last ?? defaultPageSize, fromEnd: last != null }
}

/**
 * Reads the arguments of a connection.
 *
 * @throws GatewayError BAD_USER_INPUT if a size is not 1–500, both sizes are given, or a cursor is invalid
 * @see https://relay.dev/graphql/connections.htm#sec-Pagination-algorithm
 */
export function readPageRequest(page: ConnectionArguments, order: Order): PageRequest {
  const { after, before } = page
  return {
    order,
    ...readPageSize(page),
    after: after == null ? undefined : decodeCursor(after, order, 'after'),
    before: before == null ? undefined : decodeCursor(before, order, 'before'),
  }
}

/** A row of a list. It also has the field of the list's order, which the type does not say. */
type Row = { readonly id: string }

/**
 * A cursor holds the position itself, so it stays valid when its row is deleted.
 * `{ createdAt: 2026-01-31T08:00:00.000Z, id: 'usr_1' }` ⇒ base64url of `1769846400000 usr_1`. In every other order it is
 * base64url of a JSON array: `["name","Ada","usr_1"]`.
 */
function encodeCursor(field: string, text: string, id: string): string {
  const content = field === 'createdAt' ? `${text} ${id}` : JSON.stringify([field, text, id])
  return Buffer.from(content).toString('base64url')
}

function decodeCursor(cursor: string, { field, parameterOf }: Order, name: string): Position {
  const content = Buffer.from(cursor, 'base64url').toString()
  const [text = '', id = ''] = field === 'createdAt' ? splitCursor(content) : parseCursor(content)
  const value = parameterOf(text)
  const isPossible = value !== undefined && isPossibleId(id)
  if (!isPossible || encodeCursor(field, text, id) !== cursor) {
    throw invalidField(name, 'INVALID_FORMAT', 'is not a cursor of this list')
  }
  return { value, id }
}

function splitCursor(content: string): readonly (string | undefined)[] {
  return /^(-?\d+) (.*)$/su.exec(content)?.slice(1) ?? []
}

function parseCursor(content: string): readonly string[] {
  try {
    const [, ...values] = JSON.parse(content) as unknown[]
    return values.map(String)
  } catch {
    return []
  }
}

/** A row and its cursor, which is created when a field asks for it. */
class Edge<Node extends Row> {
  readonly node: Node
  private readonly order: Order

  constructor(node: Node, order: Order) {
    this.node = node
    this.order = order
  }

  get cursor(): string {
    return encodeCursor(this.order.field, this.order.textOf(this.node as never), this.node.id)
  }
}

/**
 * Creates a connection from the rows of a page.
 *
 * @param rows up to `size + 1` rows, in the order in which they were read; the extra row shows that there are more
 */
export function toConnection<Node extends Row>(request: PageRequest, rows: readonly Node[]) {
  return connectionOf(request, rows, (node) => new Edge(node, request.order))
}

/** Creates a connection from the rows of a page of a list that is ordered by ids: the cursors are the ids. */
export function connectionById<Node extends Row>(request: PageBounds, rows: readonly Node[]) {
  return connectionOf(request, rows, (node) => ({ node, cursor: node.id }))
}

/** A page, whose cursors may be of any kind. */
interface PageBounds extends Pick<PageRequest, 'size' | 'fromEnd'> {
  readonly after: unknown
  readonly before: unknown
}

function connectionOf<Node, NodeEdge extends { readonly cursor: string }>(
  request: PageBounds,
  rows: readonly Node[],
  edgeOf: (node: Node) => NodeEdge,
) {
  const page = rows.slice(0, request.size)
  const hasMore = rows.length > request.size
  if (request.fromEnd) page.reverse()
  const edges = page.map(edgeOf)
  return {
    edges,
    pageInfo: {
      // In the other direction the page ends at the cursor of the request, if it has one.
      hasNextPage: request.fromEnd ? request.before !== undefined : hasMore,
      hasPreviousPage: request.fromEnd ? hasMore : request.after !== undefined,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  }
}
