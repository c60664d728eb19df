import type { PageRequest, Position } from './page.ts'

/** Oldest first, or newest first. */
export type Direction = 'ASC' | 'DESC'

/**
 * What Prisma is to ask for a page in the order (createdAt, id): by key and never by offset, with one row more than
 * the page has, to see whether there is more.
 */
export function keysetPage({ size, fromBack, after, before }: PageRequest, direction: Direction) {
  const sort = (direction === 'ASC') === fromBack ? ('desc' as const) : ('asc' as const)
  const bounds = [
    ...(after ? [direction === 'ASC' ? above(after) : below(after)] : []),
    ...(before ? [direction === 'ASC' ? below(before) : above(before)] : []),
  ]
  return { bounds, orderBy: [{ createdAt: sort }, { id: sort }], take: size + 1 }
}

// (createdAt, id) > (…): the first condition is what lets the index begin at the cursor, whatever came before it.
const above = ({ createdAt, id }: Position) => ({
  createdAt: { gte: createdAt },
  OR: [{ createdAt: { gt: createdAt } }, { id: { gt: id } }],
})

const below = ({ createdAt, id }: Position) => ({
  createdAt: { lte: createdAt },
  OR: [{ createdAt: { lt: createdAt } }, { id: { lt: id } }],
})
