import type { PageRequest } from '../../db/read/page.ts'
import { type FieldError, invalidInput } from '../../errors.ts'
import { decodeCursor, encodeCursor, type OrderedList } from './cursor.ts'

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
 * @throws GatewayError BAD_USER_INPUT if a size is not 0–500, or both sizes are given
 */
export function readPageSize({ first, last }: ConnectionArguments): Pick<PageRequest, 'size' | 'fromEnd'> {
  const errors: FieldError[] = []
  for (const [field, size] of Object.entries({ first, last })) {
    if (size != null && (size < 0 || size > maxPageSize)) {
      errors.push({ field, code: 'OUT_OF_RANGE', message: `must be from 0 to ${maxPageSize}` })
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
 * @throws GatewayError BAD_USER_INPUT if a size is not 0–500, both sizes are given, or a cursor is not one of the list
 * @see https://relay.dev/graphql/connections.htm#sec-Pagination-algorithm
 */
export function readPageRequest(page: ConnectionArguments, list: OrderedList): PageRequest {
  const { after, before } = page
  return {
    order: list.order,
    ...readPageSize(page),
    after: after == null ? undefined : decodeCursor(after, list, 'after'),
    before: before == null ? undefined : decodeCursor(before, list, 'before'),
  }
}

/** A row of a list. It also has the field of the list's order, which the type does not say. */
type Row = { readonly id: string }

/** A row and its cursor, which is created when a field asks for it. */
class Edge<Node extends Row> {
  readonly node: Node
  private readonly list: OrderedList

  constructor(node: Node, list: OrderedList) {
    this.node = node
    this.list = list
  }

  get cursor(): string {
    return encodeCursor(this.list, this.node)
  }
}

/**
 * Creates a connection from the rows of a page.
 *
 * @param rows up to `size + 1` rows, in the order in which they were read; the extra row shows that there are more
 * @param hasBeyond whether the list has a row at the cursor `after` or before it, or at the cursor `before` or after
 *   it. It is called when a field asks for it
 */
export function toConnection<Node extends Row>(
  list: OrderedList,
  request: PageRequest,
  rows: readonly Node[],
  hasBeyond: (side: Side) => Promise<boolean>,
) {
  return connectionOf(request, rows, (node) => new Edge(node, list), hasBeyond)
}

/** The argument with a cursor. */
export type Side = 'after' | 'before'

/**
 * Creates a connection from the rows of a page of a list that is ordered by ids: the cursors are the ids.
 *
 * @param hasBeyond whether the list has a row at the cursor `after` or before it, or at the cursor `before` or after it
 */
export function connectionById<Node extends Row>(
  request: PageBounds,
  rows: readonly Node[],
  hasBeyond: (side: Side) => Promise<boolean>,
) {
  return connectionOf(request, rows, (node) => ({ node, cursor: node.id }), hasBeyond)
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
  hasBeyond: (side: Side) => Promise<boolean>,
) {
  const { size, fromEnd } = request
  const page = rows.slice(0, size)
  const hasMore = rows.length > size
  if (fromEnd) page.reverse()
  const edges = page.map(edgeOf)
  // The row of a cursor may have been deleted, and others with it, so only a statement can tell.
  const isBeyond = (side: Side) => request[side] !== undefined && hasBeyond(side)
  return {
    edges,
    pageInfo: {
      get hasNextPage() {
        return (!fromEnd && hasMore) || isBeyond('before')
      },
      get hasPreviousPage() {
        return (fromEnd && hasMore) || isBeyond('after')
      },
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  }
}
