/** The position of a row in the order (createdAt, id). */
export interface Position {
  readonly createdAt: Date
  readonly id: string
}

/** A page to read: at most `size` rows strictly between two positions, from the start or the end of the list. */
export interface PageRequest {
  readonly size: number
  readonly fromEnd: boolean
  readonly after: Position | undefined
  readonly before: Position | undefined
}

export type Direction = 'ASC' | 'DESC'

/** The order and limits of a list, in the terms of a statement. */
export interface Window {
  readonly orderBy: 'createdAt' | 'updatedAt'
  readonly direction: Direction
  /** Only rows strictly above or below these positions. */
  readonly above?: Bound | undefined
  readonly below?: Bound | undefined
  /** At most 501 rows: one more than the largest page. */
  readonly limit: number
}

/** A position in the order (time, id). */
export interface Bound {
  readonly time: Date
  readonly id: string
}

/** The most rows that one statement reads of a list. */
export const maxLimit = 501

/**
 * The window of a page. It has one row more than the page, which shows whether there are more. It starts at a position and
 * never at an offset, so that every page costs the same.
 */
export function windowOf({ size, fromEnd, after, before }: PageRequest, direction: Direction): Window {
  const [above, below] = direction === 'ASC' ? [after, before] : [before, after]
  return {
    orderBy: 'createdAt',
    direction: (direction === 'ASC') === fromEnd ? 'DESC' : 'ASC',
    above: above && toBound(above),
    below: below && toBound(below),
    limit: size + 1,
  }
}

const toBound = ({ createdAt, id }: Position): Bound => ({ time: createdAt, id })
