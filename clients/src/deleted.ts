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
    const { type, resourceId, ...ids } = (payload ?? {}) as Readonly<Record<string, unknown>>
    const named = Object.entries(ids).flatMap(([field, id]) => [id].flat().map((each) => [typeOf.get(field), each]))
    return [[typeOf.get(String(type)), resourceId], ...named].flatMap(([__typename, id]) =>
      __typename && id ? [{ __typename: String(__typename), id: String(id) }] : [],
    )
  })
}

/** The types of what fields and events name as deleted. */
const typeOf = new Map(Object.entries({ ...deletedIds, ...deletedByEvent }))
