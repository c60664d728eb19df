import { useMemo } from 'react'
import { useQuery } from 'urql'
import {
  type ChangeFragment,
  type CreatorRowFragment,
  FollowActivityDocument,
  type FollowActivitySubscription,
  RecentActivityDocument,
} from '../__generated__/graphql.ts'
import { type Stream, useStream } from './use-stream.ts'

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
export function useActivity(): Stream<Activity> {
  const [{ data, error }] = useQuery({ query: RecentActivityDocument, requestPolicy: 'network-only' })
  const recent = data?.events?.nodes
  // The stream begins after the last event that is known, so none is missed in between.
  const variables = useMemo(() => recent && { after: recent.at(-1)?.id ?? null }, [recent])
  const stream = useStream(FollowActivityDocument, { variables, merge })
  const { changes, ...live } = stream.data ?? nothing
  if (!recent) return { isLive: false, error }
  return { ...stream, data: { ...live, changes: [...changes, ...recent.toReversed()].slice(0, shown) } }
}

function merge({ events: { node, ...change } }: FollowActivitySubscription, before: Activity = nothing): Activity {
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
