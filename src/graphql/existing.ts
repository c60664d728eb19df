/**
 * The parent that a foreign key says exists. It can be missing only when it was deleted between two statements of one
 * request.
 */
export function existing<Row>(row: Row | null): Row {
  if (row === null) throw new Error('The parent row was deleted while the request ran')
  return row
}
