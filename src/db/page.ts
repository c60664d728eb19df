/** Where a row stands in an order by (createdAt, id). */
export interface Position {
  readonly createdAt: Date
  readonly id: string
}

/** A page to read: at most `size` rows strictly between two positions, from the front or from the back of the list. */
export interface PageRequest {
  readonly size: number
  readonly fromBack: boolean
  readonly after: Position | undefined
  readonly before: Position | undefined
}
