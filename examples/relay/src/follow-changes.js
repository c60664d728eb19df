import { graphql } from 'relay-runtime'

/** The changes of users. The token needs the scope `events:read`. */
export const followChanges = graphql`
  subscription followChangesSubscription($after: ID) {
    events(after: $after, types: [USER_CREATED, USER_UPDATED, USER_DELETED]) {
      id
      type
      resourceId
    }
  }
`
