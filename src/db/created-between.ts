import type { Condition } from './list.ts'

/** When the rows of a list were made. What is absent or null does not restrict it. */
export interface CreatedFilter {
  readonly createdAfter?: Date | null | undefined
  readonly createdBefore?: Date | null | undefined
}

/** Strictly between the two. */
export function createdBetween({ createdAfter, createdBefore }: CreatedFilter): Condition[] {
  return [
    ...(createdAfter != null ? [{ field: 'createdAt', is: '>' as const, value: createdAfter }] : []),
    ...(createdBefore != null ? [{ field: 'createdAt', is: '<' as const, value: createdBefore }] : []),
  ]
}
