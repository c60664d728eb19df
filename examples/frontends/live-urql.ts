import { type Client, gql } from '@urql/core'

const users = gql`
  query Users @live {
    users(first: 20, orderBy: { field: NAME, direction: ASC }) { totalCount nodes { id name } }
  }
`

/** Shows a list, and again whenever it changes. Returns what ends that. A component of React calls `useQuery({ query: users })`. */
export const showUsers = (client: Client, show: (data: unknown) => void): (() => void) =>
  client.query(users, {}).subscribe(({ data }) => show(data)).unsubscribe
