import { type CombinedError, useQuery, useSubscription } from 'urql'
import {
  type ChangeFragment,
  type CreatorRowFragment,
  FollowActivityDocument,
  type FollowActivitySubscription,
  RecentActivityDocument,
} from '../__generated__/graphql.ts'

const shown = 8

/** What has changed. */
export interface Activity {
  /** The last changes, newest first. */
  readonly changes: readonly ChangeFragment[]
  /** The profiles that have changed since the page was opened, as they are now. */
  readonly profiles: ReadonlyMap<string, CreatorRowFragment>
  /** The accounts that were unlinked since then. */
  readonly unlinked: ReadonlySet<string>
}

const nothing: Activity = { changes: [], profiles: new Map(), unlinked: new Set() }

/** Follows the tenant's event log: the last changes, and those that come. */
export function useActivity(): { readonly data?: Activity; readonly error: CombinedError | undefined } {
  const [query] = useQuery({ query: RecentActivityDocument, requestPolicy: 'network-only' })
  const recent = query.data?.events?.nodes
  // The stream begins after the last event that is known, so none is missed in between.
  const [stream] = useSubscription(
    { query: FollowActivityDocument, variables: { after: recent?.at(-1)?.id ?? null }, pause: !recent },
    merge,
  )
  if (!recent) return { error: query.error }
  const { changes, ...live } = stream.data ?? nothing
  return { data: { ...live, changes: [...changes, ...recent.toReversed()].slice(0, shown) }, error: stream.error }
}

function merge(before: Activity = nothing, { events: { node, ...change } }: FollowActivitySubscription): Activity {
  const changed = profilesOf(node).map((profile) => [profile.id, profile] as const)
  return {
    changes: [{ ...change, node }, ...before.changes].slice(0, shown),
    profiles: new Map([...before.profiles, ...changed]),
    unlinked: change.type === 'ACCOUNT_UNLINKED' ? new Set([...before.unlinked, change.resourceId]) : before.unlinked,
  }
}

function profilesOf(node: FollowActivitySubscription['events']['node']): readonly CreatorRowFragment[] {
  if (node?.__typename === 'Profile') return [node]
  if (node?.__typename === 'Account') return node.profile ? [node.profile] : []
  if (node?.__typename === 'User') return node.accounts.flatMap(({ profile }) => profile ?? [])
  return []
}
