import type { Direction, Order } from './order.ts'

/** A position in a list: the value that it is ordered by, as a parameter, those of ties, and the id. */
export interface Position {
  readonly value: string
  readonly ties?: readonly string[]
  readonly id: string
}

/** A page to read: at most `size` rows strictly between two positions, from the start or the end of the list. */
export interface PageRequest {
  readonly order: Order
  readonly size: number
  readonly fromEnd: boolean
  readonly after: Position | undefined
  readonly before: Position | undefined
}

/** The order and limits of a list, in the terms of a statement. */
export interface Window {
  readonly order: Order
  /** The direction in which rows are read by the first key. A page from the end of the list is read backwards. */
  readonly direction: Direction
  /** Only rows above or below these positions. */
  readonly above?: Position | undefined
  readonly below?: Position | undefined
  /** Whether the rows at the positions belong to the window. */
  readonly isClosed?: boolean
  /** At most one more than the largest page. */
  readonly limit: number
}

export interface ListRequest extends Window {
  /** Which rows the list has, as Prisma Client takes it (where.ts). */
  readonly where: object
}

/** The most rows that a field returns: those of a page, and those of a list of ids. */
export const maxPageSize = 500

/** The most rows that one statement reads of a list. */
export const maxLimit = maxPageSize + 1

/**
 * The window of a page. It has one row more than the page, which shows whether there are more. It starts at a position
 * and never at an offset, so that every page costs the same.
 */
export function windowOf({ order, size, fromEnd, after, before }: PageRequest): Window {
  const isAscending = order.direction === 'ASC'
  const [above, below] = isAscending ? [after, before] : [before, after]
  return { order, direction: isAscending === fromEnd ? 'DESC' : 'ASC', above, below, limit: size + 1 }
}

/**
 * The window of the nearest row that is not on a page because of one of its positions: at `after` or before it, or at
 * `before` or after it.
 */
export function windowBeyond({ order, ...page }: PageRequest, side: 'after' | 'before'): Window {
  const isAscending = order.direction === 'ASC'
  const isAbove = isAscending === (side === 'before')
  const direction = isAbove ? 'ASC' : 'DESC'
  return { order, direction, [isAbove ? 'above' : 'below']: page[side], isClosed: true, limit: 1 }
}

/** Which rows to read of a list that is ordered by ids. All conditions must hold. */
export interface IdWindow {
  /** Exclusive. */
  readonly after?: string | undefined
  readonly before?: string | undefined
  /** Inclusive. */
  readonly notBefore?: string | undefined
  readonly notAfter?: string | undefined
  /** Whether to read the last rows, the last one first. */
  readonly fromEnd?: boolean
  readonly limit: number
}
