import type { PageRequest, Position } from '../db/page.ts'
import { isStorableTime } from '../db/storable.ts'
import { type FieldError, invalidField, invalidInput } from '../errors.ts'

/** The most items a page may have, and how many it has when nobody says. */
export const maxPageSize = 500
export const defaultPageSize = 20

/** Arguments of a connection, as the Relay specification names them. */
export interface ConnectionArguments {
  readonly first?: number | null | undefined
  readonly last?: number | null | undefined
  readonly after?: string | null | undefined
  readonly before?: string | null | undefined
}

/**
 * Reads a connection's arguments.
 *
 * @throws GatewayError BAD_USER_INPUT when a size is not 1–500, both sizes are given, or a cursor is not one of ours
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
    fromBack: last != null,
    after: after == null ? undefined : decodeCursor(after, 'after'),
    before: before == null ? undefined : decodeCursor(before, 'before'),
  }
}

/**
 * A cursor carries the position itself, so it stays good when its row is deleted.
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

/** A row in its list. The cursor is made when it is asked for: most callers want one at most. */
class Edge<Row extends Position> {
  readonly node: Row

  constructor(node: Row) {
    this.node = node
  }

  get cursor(): string {
    return encodeCursor(this.node)
  }
}

/**
 * Makes a connection of the rows that a page request found, in the list's order.
 *
 * @param rows up to `size + 1` rows, nearest to where reading began first: the extra row says that there is more
 */
export function toConnection<Row extends Position>(request: PageRequest, rows: readonly Row[]) {
  const page = rows.slice(0, request.size)
  const hasMore = rows.length > request.size
  if (request.fromBack) page.reverse()
  const edges = page.map((node) => new Edge(node))
  return {
    edges,
    pageInfo: {
      // In the other direction the page ends at the cursor it was asked from, if there was one.
      hasNextPage: request.fromBack ? request.before !== undefined : hasMore,
      hasPreviousPage: request.fromBack ? hasMore : request.after !== undefined,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  }
}
