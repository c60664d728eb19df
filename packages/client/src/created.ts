import { changedByCreation, createdByEvent, creatingMutations } from './generated.ts'
import { fieldOf } from './request.ts'

/** An object that is new, or may be. */
export interface Created {
  readonly __typename: string
  /** Undefined if the mutation did not select it. */
  readonly id: string | undefined
  /** The user whom it belongs to, if this is known. */
  readonly userId: string | undefined
}

/**
 * The objects that were created, by the result of a mutation, or by an event with `type` and `resourceId`.
 *
 * @param data the data of the operation: `{ createUser: { user: { id } } }`, `{ events: { type, resourceId } }`
 */
export function createdBy(data: unknown): Created[] {
  return Object.entries(data ?? {}).flatMap(([field, payload]) => {
    const { __typename, type, resourceId, userId } = (payload ?? {}) as Payload
    const ofEvent = typeOfEvent.get(String(type))
    if (ofEvent) return [{ __typename: ofEvent, id: resourceId, userId: userId ?? undefined }]
    // A mutation can have an alias. Relay selects no names of types.
    const mutation = fieldOf(String(__typename).replace(/Payload$/, ''))
    const created = typeOfMutation.get(mutation) ?? typeOfMutation.get(field)
    if (!created) return []
    const { results = [payload as Payload | null] } = (payload ?? {}) as Payload
    return results.flatMap((result) => {
      const object = new Map(Object.entries(result ?? {})).get(fieldOf(created))
      if (!result || object === null || (result.userErrors ?? []).length > 0) return []
      const { id, user } = (object ?? {}) as { readonly id?: string; readonly user?: { readonly id?: string } | null }
      return [{ __typename: created, id, userId: user?.id }]
    })
  })
}

interface Payload {
  readonly __typename?: string
  readonly type?: string
  readonly resourceId?: string
  readonly userId?: string | null
  readonly results?: readonly (Payload | null)[]
  readonly userErrors?: readonly unknown[]
}

const typeOfEvent = new Map(Object.entries(createdByEvent))
const typeOfMutation = new Map(Object.entries(creatingMutations))
/** The fields that a new object of a type changes, by the types that have them. */
const changed = new Map(
  Object.entries(changedByCreation).map(([type, fields]) => [type, new Map(Object.entries(fields))] as const),
)

/**
 * The fields of an object that a new one may change.
 *
 * @param parent the type of the object
 * @param id the id of the object. Undefined: the object may be any one of this type
 */
export function fieldsChangedBy(created: readonly Created[], parent: string, id?: string): string[] {
  const concerned = created.filter(({ userId }) => parent !== 'User' || !userId || !id || userId === id)
  return [...new Set(concerned.flatMap(({ __typename }) => changed.get(__typename)?.get(parent) ?? []))]
}

/** The types of objects, besides Query, of which a new one may change fields. */
export const parentsChangedBy = ({ __typename }: Created): string[] =>
  [...(changed.get(__typename)?.keys() ?? [])].filter((parent) => parent !== 'Query')

/** The names of the fields of objects that they may change. */
export const nestedChangedBy = (created: readonly Created[]): string[] =>
  created.flatMap((each) => parentsChangedBy(each).flatMap((parent) => fieldsChangedBy([each], parent)))

/** The names of all fields that they may change. */
export const namesChangedBy = (created: readonly Created[]): string[] => [
  ...fieldsChangedBy(created, 'Query'),
  ...nestedChangedBy(created),
]
