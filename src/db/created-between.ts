/** When the rows of a list were made. What is absent or null does not restrict it. */
export interface CreatedFilter {
  readonly createdAfter?: Date | null | undefined
  readonly createdBefore?: Date | null | undefined
}

/** What Prisma is to ask of `createdAt`: strictly between the two. */
export function createdBetween({ createdAfter, createdBefore }: CreatedFilter) {
  return { ...(createdAfter != null && { gt: createdAfter }), ...(createdBefore != null && { lt: createdBefore }) }
}
