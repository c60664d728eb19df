import type { ResultOf } from '@graphql-typed-document-node/core'
import { graphql } from './__generated__/gql.ts'

export const topProfiles = graphql(`
  query TopProfiles($first: Int!, $updatedAfter: DateTime) {
    searchProfiles(first: $first, filter: { updatedAfter: $updatedAfter }) {
      edges {
        node {
          id
          username
          followersCount
          dateOfBirth
          syncedAt
          addresses
        }
      }
    }
  }
`)

/** A field of `Query` is null if it failed: its scope is missing, for example. */
type Page = NonNullable<ResultOf<typeof topProfiles>['searchProfiles']>
type Profile = Page['edges'][number]['node']

/** The scalars have types: TypeScript rejects this function if they are `unknown`. */
export function describeProfile({ username, followersCount, syncedAt }: Profile): string {
  return `${username}: ${followersCount?.toLocaleString() ?? 'unknown'} followers on ${syncedAt.slice(0, 10)}`
}
