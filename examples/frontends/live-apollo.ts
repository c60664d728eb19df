import { type ApolloClient, gql } from '@apollo/client/core'

const users = gql`
  query Users @live {
    users(first: 20, orderBy: { field: NAME, direction: ASC }) { totalCount nodes { id name } }
  }
`

/** Shows a list, and again whenever it changes. Returns what ends that. A component of React calls `useQuery(users)`. */
export function showUsers(client: ApolloClient, show: (data: unknown) => void): () => void {
  const shown = client.watchQuery({ query: users }).subscribe(({ data }) => show(data))
  return () => shown.unsubscribe()
}
