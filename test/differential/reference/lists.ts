import { listNameOf } from './cursors.ts'
import { inputError } from './errors.ts'
import { firstOf, type Row, type TextOrder } from './tables.ts'
import type { View } from './view.ts'

export interface Order {
  readonly field: string
  readonly direction: string
}

/** The arguments that order a list. */
export interface OrderArguments {
  readonly orderBy?: Order | null
  readonly thenBy?: readonly Order[] | null
}

export interface ListArguments {
  readonly first?: number | null
  readonly last?: number | null
  readonly after?: string | null
  readonly before?: string | null
}

/** The order of each list without `orderBy`. A list that is missing has no such argument. */
const defaultOrders: Readonly<Record<string, Order>> = {
  users: { field: 'CREATED_AT', direction: 'ASC' },
  accounts: { field: 'CREATED_AT', direction: 'ASC' },
  jobs: { field: 'CREATED_AT', direction: 'ASC' },
  searchProfiles: { field: 'FOLLOWERS_COUNT', direction: 'DESC' },
}

/** The fields by which a list is ordered, one after the other. A field that comes a second time has no effect. */
export function ordersIn(list: string, { orderBy, thenBy }: OrderArguments): Order[] {
  const orders = [orderBy ?? defaultOrders[list] ?? [], thenBy ?? []].flat()
  return orders.filter(({ field }, index) => orders.findIndex((order) => order.field === field) === index)
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

/** Compares rows in an order. Ties are ordered by id, in the direction of the first field. */
function comparing(orders: readonly Order[], order: TextOrder): (one: Row, other: Row) => number {
  const idOf = ({ id }: Row) => order.get(id) ?? Number.NaN
  const signOf = (direction: string | undefined) => (direction === 'DESC' ? -1 : 1)
  return (one, other) => {
    for (const { field, direction } of orders) {
      const keyOf = keys[field] ?? (() => 0)
      const [a, b] = [keyOf(one, direction, order), keyOf(other, direction, order)]
      if (a !== b) return signOf(direction) * (a < b ? -1 : 1)
    }
    return signOf(orders[0]?.direction) * (idOf(one) - idOf(other))
  }
}

/**
 * The rows of a parent, oldest first, or in another order, and as many as `first`.
 *
 * @param select returns all of them. It is called after `first` was checked
 * @throws GraphQLError BAD_USER_INPUT
 */
export function nestedRows(
  view: View,
  { first, ...order }: { readonly first?: number | null } & OrderArguments,
  select: () => readonly Row[],
): Row[] {
  if (first != null && (first < 0 || first > maxSize)) throw inputError(`must be from 0 to ${maxSize}`)
  const sorted = select().toSorted(comparing(ordersIn('accounts', order), view.order))
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
export function pageOf(view: View, list: string, args: ListArguments, order: OrderArguments, select: () => Row[]) {
  const { first, last } = args
  for (const size of [first, last]) {
    if (size != null && (size < 0 || size > maxSize)) throw inputError(`must be from 0 to ${maxSize}`)
  }
  if (first != null && last != null) throw inputError('last cannot be given together with first')
  const orders = ordersIn(list, order)
  const name = listNameOf(list, orders)
  const unordered = { field: list === 'events' ? 'ID' : 'CREATED_AT', direction: 'ASC' }
  const compare = comparing(orders.length > 0 ? orders : [unordered], view.order)
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
