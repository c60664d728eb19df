import type { PageRequest, Position } from '../../db/read/page.ts'
import { isStorableTime } from '../../db/storable.ts'
import { type FieldError, invalidField, invalidInput } from '../../errors.ts'

/** The largest page, and the size of a page by default. */
export const maxPageSize = 500
export const defaultPageSize = 20

/** The arguments of a connection. */
export interface ConnectionArguments {
  readonly first?: number | null | undefined
  readonly last?: number | null | undefined
  readonly after?: string | null | undefined
  readonly before?: string | null | undefined
}

/**
 * Reads the arguments of a connection.
 *
 * @throws GatewayError BAD_USER_INPUT if a size is not 1–500, both sizes are given, or a cursor is invalid
 * @see https://relay.dev/graphql/connections.htm#sec-Pagination-algorithm
 */
export function readPageRequest({ first, last, after, before }: ConnectionArguments): PageRequest {
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
  return {
    size: first ?? last ?? defaultPageSize,
    fromEnd: last != null,
    after: after == null ? undefined : decodeCursor(after, 'after'),
    before: before == null ? undefined : decodeCursor(before, 'before'),
  }
}

/**
 * A cursor holds the position itself, so it stays valid when its row is deleted.
 * `{ createdAt: 2026-01-31T08:00:00.000Z, id: 'usr_1' }` ⇒ base64url of `1769846400000 usr_1`
 */
function encodeCursor({ createdAt, id }: Position): string {
  return Buffer.from(`${createdAt.getTime()} ${id}`).toString('base64url')
}

function decodeCursor(cursor: string, field: string): Position {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [, time, id] = /^(-?\d{1,15}) ([^\0]{1,128})$/su.exec(text) ?? []
  const position = { createdAt: new Date(Number(time)), id: id ?? '' }
  if (id === undefined || !isStorableTime(position.createdAt) || encodeCursor(position) !== cursor) {
    throw invalidField(field, 'INVALID_FORMAT', 'is not a cursor of this list')
  }
  return position
}

/** A row and its cursor, which is created when a field asks for it. */
class Edge<Node extends Position> {
  readonly node: Node

  constructor(node: Node) {
    this.node = node
  }

  get cursor(): string {
    return encodeCursor(this.node)
  }
}

/**
 * Creates a connection from the rows of a page.
 *
 * @param rows up to `size + 1` rows, in the order in which they were read; the extra row shows that there are more
 */
export function toConnection<Node extends Position>(request: PageRequest, rows: readonly Node[]) {
  const page = rows.slice(0, request.size)
  const hasMore = rows.length > request.size
  if (request.fromEnd) page.reverse()
  const edges = page.map((node) => new Edge(node))
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
