import { RequestError } from '@fusion-gateway/client'
import type { Send, Sent } from '@fusion-gateway/client/fetch'

const document = `query Users($after: String, $search: String) {
  users(first: 20, after: $after, filter: { search: $search }) {
    nodes { id name }
    pageInfo { hasNextPage endCursor }
  }
}`

interface Users {
  readonly users: {
    readonly nodes: readonly { readonly id: string; readonly name: string }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  } | null
}

/** The options of a list that grows: `useInfiniteQuery(usersOptions(send, search))`. */
export function usersOptions(send: Send, search: string) {
  return {
    queryKey: ['users', search],
    queryFn: ({ pageParam, signal }: { pageParam: string | null; signal: AbortSignal }) =>
      send<Users>(document, { after: pageParam, search }, { signal }),
    initialPageParam: null,
    getNextPageParam: ({ data: { users } }: Sent<Users>) =>
      users?.pageInfo.hasNextPage ? users.pageInfo.endCursor : undefined,
    // `send` has retried responses with 503. Single fields can fail in a response with 200.
    retry: (failures: number, error: Error) => failures < 3 && error instanceof RequestError && error.isTemporary,
  }
}
