import { type FieldError, invalidField, invalidInput } from '@fusion-gateway/base'
import type { Loaders, Model, Row } from '@fusion-gateway/prisma-trees'
import { type IdWindow, maxPageSize, type PageRequest, windowBeyond, windowOf } from '@fusion-gateway/prisma-trees'
import type { PageInfoShape } from '@pothos/plugin-relay'
import { decodeCursor, encodeCursor, type OrderedList } from './cursor.ts'

export const defaultPageSize = 20

export interface ConnectionArguments {
  readonly first?: number | null | undefined
  readonly last?: number | null | undefined
  readonly after?: string | null | undefined
  readonly before?: string | null | undefined
}

/**
 * Checks the length of a list of ids.
 *
 * @param name the argument that has the list
 * @throws GatewayError BAD_USER_INPUT if it has more ids than a field returns rows
 */
export function requireShortList(ids: readonly unknown[], name: string): void {
  if (ids.length > maxPageSize) throw invalidField(name, 'OUT_OF_RANGE', `must have at most ${maxPageSize} entries`)
}

/** @throws GatewayError BAD_USER_INPUT if a size is not 0–500, or both sizes are given */
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
type ListedRow = { readonly id: string }

/** A row and its cursor, which is created when a field asks for it. */
class Edge<Node extends ListedRow> {
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
 * @param rows up to `size + 1` rows, in the order in which they were read; the extra row shows that there are more
 * @param hasBeyond whether the list has a row at the cursor `after` or before it, or at the cursor `before` or after
 *   it. It is called when a field asks for it
 */
export function toConnection<Node extends ListedRow>(
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
 * Reads a page of rows of a model.
 *
 * @param where which rows the list has, as Prisma Client takes it
 */
export async function readPage<M extends Model>(
  loaders: Pick<Loaders, 'list' | 'hasRow'>,
  model: M,
  list: OrderedList,
  page: PageRequest,
  where: object,
) {
  const rows = await loaders.list(model, { where, ...windowOf(page) })
  // See `asParent` of prisma-trees.
  return toConnection(list, page, rows as Row<M>[], (side) =>
    loaders.hasRow(model, { where, ...windowBeyond(page, side) }),
  )
}

/**
 * Reads a page of a list that is ordered by ids, which are also its cursors.
 *
 * @param cursors whether a text can be the cursor of an argument, and what a cursor is, for errors: `the id of an
 *   event`
 * @throws GatewayError BAD_USER_INPUT as {@link readPageRequest} does
 */
export async function readPageById<Node extends ListedRow>(
  args: ConnectionArguments,
  cursors: { readonly isId: (text: string, side: Side) => boolean; readonly name: string },
  read: (window: IdWindow) => Promise<readonly Node[]>,
) {
  const { size, fromEnd } = readPageSize(args)
  const readCursor = (side: Side) => {
    const cursor = args[side] ?? undefined
    if (cursor === undefined || cursors.isId(cursor, side)) return cursor
    throw invalidField(side, 'INVALID_FORMAT', `is not ${cursors.name}`)
  }
  const [after, before] = [readCursor('after'), readCursor('before')]
  const rows = await read({ after, before, fromEnd, limit: size + 1 })
  const edgeOf = (node: Node) => ({ node, cursor: node.id })
  return connectionOf({ size, fromEnd, after, before }, rows, edgeOf, async (side) => {
    const beyond = side === 'after' ? { notAfter: after, fromEnd: true } : { notBefore: before }
    return (await read({ ...beyond, limit: 1 })).length > 0
  })
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
  if (fromEnd) page.reverse()
  const edges = page.map(edgeOf)
  const pageInfo = new PageInfo(request, edges, rows.length > size, hasBeyond)
  // Pothos' types have no promises here, but its executors await them (graphql-jit only those of resolvers).
  return { edges, pageInfo: pageInfo as typeof pageInfo & PageInfoShape }
}

/**
 * The start and end of a page, which are read when a field asks for them.
 *
 * It is a class because V8 keeps the getters of an object literal among the objects that only a full garbage collection
 * frees. Until then they would keep the page and all that its request has read, which collections of young objects
 * would have to copy.
 */
class PageInfo {
  private readonly request: PageBounds
  private readonly edges: readonly { readonly cursor: string }[]
  private readonly hasMore: boolean
  private readonly hasBeyond: (side: Side) => Promise<boolean>

  constructor(
    request: PageBounds,
    edges: readonly { readonly cursor: string }[],
    hasMore: boolean,
    hasBeyond: (side: Side) => Promise<boolean>,
  ) {
    this.request = request
    this.edges = edges
    this.hasMore = hasMore
    this.hasBeyond = hasBeyond
  }

  get hasNextPage(): boolean | Promise<boolean> {
    return (!this.request.fromEnd && this.hasMore) || this.isBeyond('before')
  }

  get hasPreviousPage(): boolean | Promise<boolean> {
    return (this.request.fromEnd && this.hasMore) || this.isBeyond('after')
  }

  get startCursor(): string | null {
    return this.edges.at(0)?.cursor ?? null
  }

  get endCursor(): string | null {
    return this.edges.at(-1)?.cursor ?? null
  }

  // The row of a cursor may have been deleted, and others with it, so only a statement can tell.
  private isBeyond(side: Side): boolean | Promise<boolean> {
    return this.request[side] !== undefined && this.hasBeyond(side)
  }
}
