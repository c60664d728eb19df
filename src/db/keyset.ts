import type { ListRequest } from './list.ts'
import type { PageRequest, Position } from './page.ts'

/** Oldest first, or newest first. */
export type Direction = 'ASC' | 'DESC'

/**
 * The rows of a page in the order (createdAt, id): by key and never by offset, with one row more than the page has, to
 * see whether there is more.
 */
export function keysetPage(
  { size, fromBack, after, before }: PageRequest,
  direction: Direction,
): Omit<ListRequest, 'conditions'> {
  const [above, below] = direction === 'ASC' ? [after, before] : [before, after]
  return {
    orderBy: 'createdAt',
    direction: (direction === 'ASC') === fromBack ? 'DESC' : 'ASC',
    above: above && toPlace(above),
    below: below && toPlace(below),
    limit: size + 1,
  }
}

const toPlace = ({ createdAt, id }: Position) => ({ time: createdAt, id })
