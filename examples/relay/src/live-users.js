import { graphql } from 'relay-runtime'

export const liveUsers = graphql`
  query liveUsersQuery @live {
    users(first: 20, orderBy: { field: NAME, direction: ASC }) {
      totalCount
      edges {
        node {
          id
          name
        }
      }
    }
  }
`
