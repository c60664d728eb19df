import { live, type Send, type Sent } from '@fusion-gateway/client/fetch'
import { experimental_streamedQuery as streamedQuery } from '@tanstack/query-core'

const users = `query Users @live {
  users(first: 20, orderBy: { field: NAME, direction: ASC }) { totalCount nodes { id name } }
}`

/** The options of a list that is shown again whenever it changes: `useQuery(liveUsers(send))`. */
export function liveUsers(send: Send) {
  return {
    queryKey: ['users', 'live'],
    queryFn: streamedQuery<Sent<unknown> | null, Sent<unknown> | null>({
      streamFn: ({ signal }) => live(send, users, {}, { signal }),
      // Each result takes the place of the one before.
      reducer: (_, sent) => sent,
      initialValue: null,
      refetchMode: 'append',
    }),
  }
}
