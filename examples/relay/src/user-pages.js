import { graphql } from 'relay-runtime'

/** The first page. */
export const userPagesQuery = graphql`
  query userPagesQuery {
    ...userPages_users
  }
`

/** A list that grows by `usePaginationFragment`. The compiler writes the query for the next page. */
export const userPages = graphql`
  fragment userPages_users on Query
  @refetchable(queryName: "userPagesNextQuery")
  @argumentDefinitions(count: { type: "Int", defaultValue: 20 }, cursor: { type: "String" }) {
    users(first: $count, after: $cursor) @connection(key: "userPages_users") {
      edges {
        node {
          id
          ...userPages_user
        }
      }
    }
  }
`

/** An object that can be read again by its id, by `node(id:)`. */
export const user = graphql`
  fragment userPages_user on User @refetchable(queryName: "userPagesUserQuery") {
    name
    accounts {
      platform
    }
  }
`
