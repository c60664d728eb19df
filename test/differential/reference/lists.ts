import { listNameOf } from './cursors.ts'
import { inputError } from './errors.ts'
import { firstOf, type Row, type TextOrder } from './tables.ts'
import type { View } from './view.ts'

interface Order {
  readonly field: string
  readonly direction: string
}

export interface ListArguments {
  readonly first?: number | null
  readonly last?: number | null
  readonly after?: string | null
  readonly before?: string | null
}

/** The order of each list without `orderBy`. A list that is missing has no such argument. */
export const defaultOrders: Readonly<Record<string, Order>> = {
  users: { field: 'CREATED_AT', direction: 'ASC' },
  accounts: { field: 'CREATED_AT', direction: 'ASC' },
  jobs: { field: 'CREATED_AT', direction: 'ASC' },
  searchProfiles: { field: 'FOLLOWERS_COUNT', direction: 'DESC' },
}

/** What a row is ordered by, for each value of the enums of orders. Events are in the order of their ids. */
const keys: Readonly<Record<string, (row: Row, direction: string, order: TextOrder) => number>> = {
  CREATED_AT: (row) => Date.parse(String(row['createdAt'])),
  UPDATED_AT: (row) => Date.parse(String(row['updatedAt'])),
  NAME: (row, _, order) => order.get(firstOf(row['name'])) ?? Number.NaN,
  // Rows without a number come last in both directions.
  FOLLOWERS_COUNT: (row, direction) => Number(row['followersCount'] ?? (direction === 'ASC' ? Infinity : -1)),
  ID: () => 0,
}

/** Compares rows in an order. Ties are ordered by id, in the same direction. */
function comparing({ field, direction }: Order, order: TextOrder): (one: Row, other: Row) => number {
  const sign = direction === 'ASC' ? 1 : -1
  const keyOf = keys[field] ?? (() => 0)
  const idOf = ({ id }: Row) => order.get(id) ?? Number.NaN
  return (one, other) => {
    const [a, b] = [keyOf(one, direction, order), keyOf(other, direction, order)]
    return sign * (a === b ? idOf(one) - idOf(other) : a < b ? -1 : 1)
  }
}

/**
 * The rows of a parent, oldest first, or in another order, and as many as `first`.
 *
 * @param select returns all of them. It is called after `first` was checked
 * @throws GraphQLError BAD_USER_INPUT
 */
export function nestedRows(
  { order }: View,
  { first, orderBy }: { readonly first?: number | null; readonly orderBy?: Order | null },
  select: () => readonly Row[],
): Row[] {
  if (first != null && (first < 0 || first > maxSize)) throw inputError(`must be from 0 to ${maxSize}`)
  const sorted = select().toSorted(comparing(orderBy ?? { field: 'CREATED_AT', direction: 'ASC' }, order))
  return sorted.slice(0, first ?? sorted.length)
}

const maxSize = 500
const defaultSize = 20

/**
 * A page of a list, as https://relay.dev/graphql/connections.htm says.
 *
 * @param list the name of the field
 * @param select returns the rows of the list. It is called after the other arguments were checked
 * @throws GraphQLError BAD_USER_INPUT for a size or a cursor
 */
export function pageOf(
  view: View,
  list: string,
  args: ListArguments,
  orderBy: Order | null | undefined,
  select: () => Row[],
) {
  const { first, last } = args
  for (const size of [first, last]) {
    if (size != null && (size < 0 || size > maxSize)) throw inputError(`must be from 0 to ${maxSize}`)
  }
  if (first != null && last != null) throw inputError('last cannot be given together with first')
  const named = orderBy ?? defaultOrders[list]
  const name = listNameOf(list, named)
  const compare = comparing(named ?? { field: list === 'events' ? 'ID' : 'CREATED_AT', direction: 'ASC' }, view.order)
  const after = args.after == null ? undefined : view.cursors.rowOf(name, args.after, 'after')
  const before = args.before == null ? undefined : view.cursors.rowOf(name, args.before, 'before')

  const all = select().sort(compare)
  const between = all.filter((row) => (!after || compare(row, after) > 0) && (!before || compare(row, before) < 0))
  const page = last == null ? between.slice(0, first ?? defaultSize) : between.slice(Math.max(0, between.length - last))
  const edges = page.map((node) => ({
    node,
    get cursor() {
      return view.cursors.cursorOf(view.tenantAppId, name, node)
    },
  }))
  return {
    edges,
    nodes: page,
    totalCount: all.length,
    pageInfo: {
      ...hasMore({
        isFromEnd: last != null,
        isCut: between.length > page.length,
        isBefore: after !== undefined && all.some((row) => compare(row, after) <= 0),
        isAfter: before !== undefined && all.some((row) => compare(row, before) >= 0),
      }),
      startCursor: () => edges.at(0)?.cursor ?? null,
      endCursor: () => edges.at(-1)?.cursor ?? null,
    },
  }
}

interface PageEnds {
  readonly isFromEnd: boolean
  /** Whether rows between the cursors are left out because of the size. */
  readonly isCut: boolean
  /** Whether rows are at the cursor `after` or before it, and at the cursor `before` or after it. */
  readonly isBefore: boolean
  readonly isAfter: boolean
}

/** Whether a page says that rows follow and precede it. */
function hasMore({ isFromEnd, isCut, isBefore, isAfter }: PageEnds) {
  return { hasNextPage: (!isFromEnd && isCut) || isAfter, hasPreviousPage: (isFromEnd && isCut) || isBefore }
}
