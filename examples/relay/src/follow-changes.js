import { graphql } from 'relay-runtime'

/** Changes of a job. Jobs belong to no user, so the token must not be bound to one. */
export const followJob = graphql`
  subscription followJobSubscription($id: ID!) {
    job(id: $id) {
      id
      status
      progress
    }
  }
`
