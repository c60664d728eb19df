import { graphql } from 'relay-runtime'

export const userListQuery = graphql`
  query userListQuery($count: Int!) {
    users(first: $count) @connection(key: "userList_users") {
      edges {
        node {
          id
          name
          ...userList_accounts
        }
      }
    }
  }
`

export const accounts = graphql`
  fragment userList_accounts on User {
    accounts {
      platform
      displayName
    }
  }
`
