import { deletedByEvent, deletedIds } from './generated.ts'

/** An object of a cache. */
export interface Deleted {
  readonly __typename: string
  readonly id: string
}

/**
 * The objects that were deleted, by the result of a mutation, or by an event with `type` and `resourceId`.
 *
 * @param data the data of the operation: `{ deleteUser: { deletedUserId } }`, `{ events: { type, resourceId } }`
 */
export function deletedBy(data: unknown): Deleted[] {
  const payloads: unknown[] = Object.values(data ?? {}).flatMap((payload) => payload?.results ?? [payload])
  return payloads.flatMap((payload) => {
    const values = (payload ?? {}) as Readonly<Record<string, unknown>>
    const named = Object.entries(deletedIds).map(([field, type]) => [type, values[field]])
    return [[deletedByEvent[String(values['type'])], values['resourceId']], ...named].flatMap(([type, id]) =>
      type && id ? [{ __typename: String(type), id: String(id) }] : [],
    )
  })
}
