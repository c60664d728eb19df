import { forbidden, inputError } from './errors.ts'
import type { Row, Typename } from './tables.ts'
import type { View } from './view.ts'

interface NodeType {
  readonly typename: Typename | 'Webhook'
  readonly prefix: string
  readonly scope: string
  /** Whether rows with ids of other forms exist, because they can be imported. */
  readonly isImported: boolean
}

/** The types of nodes. If rows of several types have an id, `node` returns that of the first. */
const nodeTypes: readonly NodeType[] = [
  { typename: 'User', prefix: 'usr_', scope: 'users:read', isImported: true },
  { typename: 'Account', prefix: 'acc_', scope: 'users:read', isImported: true },
  { typename: 'Profile', prefix: 'prf_', scope: 'profiles:read', isImported: true },
  { typename: 'EmailRecord', prefix: 'eml_', scope: 'contacts:read', isImported: true },
  { typename: 'Job', prefix: 'job_', scope: 'jobs:read', isImported: true },
  { typename: 'Webhook', prefix: 'whk_', scope: 'webhooks:write', isImported: false },
  { typename: 'ApiKey', prefix: 'key_', scope: 'keys:write', isImported: false },
]

/**
 * The row with an id. An error never says that a row exists: for a type that the holder may not read, no row is looked
 * for.
 *
 * @returns the row, null, or the error FORBIDDEN if a type that the holder may not read can have the id
 */
export function findNode(view: View, id: string): Row | Error | null {
  const expected = nodeTypes.find(({ prefix }) => id.startsWith(prefix))
  const isReadable = ({ scope }: NodeType) => view.scopes.includes(scope)
  if (expected && !isReadable(expected)) return forbidden(expected.scope)
  const imported = nodeTypes.filter(({ isImported }) => isImported)
  for (const type of [...(expected ? [expected] : []), ...imported.filter(isReadable)]) {
    const row = type.typename === 'Webhook' ? undefined : view.byId[type.typename].get(id)
    if (row) return row
  }
  // No token of a user may read jobs, so an id of no known type is not refused because of them.
  const possible = imported.filter(({ typename }) => view.userId === undefined || typename !== 'Job')
  const refused = expected ? undefined : possible.find((type) => !isReadable(type))
  return refused ? forbidden(refused.scope) : null
}

/** The keys by which routers refer to objects. */
const keysOf = (typename: string): readonly (readonly string[])[] =>
  typename === 'Account' ? [['id'], ['platform', 'platformAccountId']] : [['id']]

/**
 * The row to which a router refers.
 *
 * @returns the row, null, or the error FORBIDDEN if the holder may not read its type
 * @throws GraphQLError BAD_USER_INPUT if the type or the key is unknown
 */
export function findEntity(view: View, reference: Readonly<Record<string, unknown>>): Row | Error | null {
  const type = nodeTypes.find(({ typename, isImported }) => isImported && typename === reference['__typename'])
  if (!type || type.typename === 'Webhook') return inputError('It has no type of an entity.')
  const isValue = (value: unknown) => typeof value === 'string' || Number.isSafeInteger(value)
  const key = keysOf(type.typename).find((fields) => fields.every((field) => isValue(reference[field])))
  if (!key) return inputError('It has no key of its type.')
  if (!view.scopes.includes(type.scope)) return forbidden(type.scope)
  const rows = view.rows[type.typename]
  return rows.find((row) => key.every((field) => row[field] === String(reference[field]))) ?? null
}

const resources: Readonly<Record<string, string>> = {
  USER: 'User',
  ACCOUNT: 'Account',
  PROFILE: 'Profile',
  JOB: 'Job',
}

/** The resource of an event. @throws GraphQLError FORBIDDEN */
export function nodeOfEvent(view: View, event: Row): Row | null {
  const typename = resources[String(event['type']).split('_')[0] ?? '']
  const type = nodeTypes.find((known) => known.typename === typename)
  if (!type || type.typename === 'Webhook') throw new Error(`The reference knows no ${typename}`)
  if (!view.scopes.includes(type.scope)) throw forbidden(type.scope)
  return view.byId[type.typename].get(String(event['resourceId'])) ?? null
}
