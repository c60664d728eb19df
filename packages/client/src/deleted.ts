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

/** Leaves out objects that were deleted after a query was sent. Returns the data itself if it has none of them. */
export function withoutDeleted<Data>(data: Data, deleted: readonly Deleted[]): Data {
  if (deleted.length === 0) return data
  const keys = new Set(deleted.map(keyOf))
  const isDeleted = (value: unknown) => keys.has(keyOf((value ?? {}) as Partial<Deleted>))
  const isLeft = (value: unknown) => !isDeleted(value) && !isDeleted((value as { node?: unknown } | null)?.node)
  const leave = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      const left = value.filter(isLeft).map(leave)
      return left.length === value.length && left.every((each, at) => each === value[at]) ? value : left
    }
    const entries = Object.entries(value)
    const left = entries.map(([name, each]) => [name, isDeleted(each) ? null : leave(each)] as const)
    return left.every(([, each], at) => each === entries[at]?.[1]) ? value : Object.fromEntries(left)
  }
  return leave(data) as Data
}

const keyOf = ({ __typename, id }: Partial<Deleted>) => JSON.stringify([__typename, id])
