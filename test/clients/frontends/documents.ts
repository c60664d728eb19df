/**
 * The operations of the pages, by their names. The compiler of Relay needs these endings, and its own directives: the
 * others send `textOf(name)`.
 */
export const documents = {
  UsersQuery: `query UsersQuery($search: String, $thenBy: [UserOrder!], $after: String) {
    users(first: 2, after: $after, filter: { search: $search }, orderBy: { field: NAME, direction: ASC }, thenBy: $thenBy)
      @connection(key: "Users_users") {
      totalCount
      edges { node { id name } }
      pageInfo { endCursor hasNextPage }
    }
  }`,
  LiveUsersQuery: `query LiveUsersQuery @live {
    users(first: 10, orderBy: { field: NAME, direction: ASC }) { totalCount edges { node { id name } } }
  }`,
  /** What belongs to a user, in lists with and without pages. */
  AccountsQuery: `query AccountsQuery($id: ID!, $after: String) {
    user(id: $id) {
      id
      accountsConnection(first: 2, after: $after) @connection(key: "Accounts_accountsConnection") {
        edges { node { id } }
        pageInfo { endCursor hasNextPage }
      }
    }
  }`,
  UserAccountsQuery: `query UserAccountsQuery($id: ID!) {
    user(id: $id) { id accounts { id displayName } }
    accounts(first: 10) { totalCount edges { node { id displayName } } }
  }`,
  JobsQuery: `query JobsQuery($after: String) {
    jobs(first: 2, after: $after, orderBy: { field: CREATED_AT, direction: ASC }) @connection(key: "Jobs_jobs") {
      edges { node { id } }
      pageInfo { endCursor hasNextPage }
    }
  }`,
  NodeQuery: `query NodeQuery($id: ID!) {
    node(id: $id) { __typename ... on Node { id } ... on User { name } }
  }`,
  /** Without a profile, and without the scope to read emails. */
  ContactQuery: `query ContactQuery($id: ID!) {
    user(id: $id) { id name email @catch(to: RESULT) accounts { id profile { id } } }
  }`,
  ViewerQuery: `query ViewerQuery {
    viewer { user { id name } }
    users(first: 2) { edges { node { id name } } }
  }`,
  CountQuery: `query CountQuery { profileStats { count verified { verified } } }`,
  FollowersQuery: `query FollowersQuery { profileStats { followers { sum } verified { unverified } } }`,
  CreateUserMutation: `mutation CreateUserMutation($input: CreateUserInput!) {
    createUser(input: $input) { user { id name } userErrors { code } }
  }`,
  RenameMutation: `mutation RenameMutation($id: ID!, $name: String!) {
    updateUser(input: { id: $id, name: $name }) { user { id name } userErrors { code } }
  }`,
  /** Writes nothing if somebody else has saved meanwhile. */
  SaveMutation: `mutation SaveMutation($id: ID!, $name: String!, $expectedUpdatedAt: DateTime!) {
    updateUser(input: { id: $id, name: $name, expectedUpdatedAt: $expectedUpdatedAt }) {
      user { id name updatedAt }
      userErrors { code }
    }
  }`,
  DeleteMutation: `mutation DeleteMutation($id: ID!) {
    deleteUser(input: { id: $id }) { deletedUserId userErrors { code } }
  }`,
  UnlinkMutation: `mutation UnlinkMutation($id: ID!) {
    unlinkAccount(input: { id: $id }) { unlinkedAccountId userErrors { code } }
  }`,
  EventsSubscription: `subscription EventsSubscription($after: ID) {
    events(after: $after) { id type resourceId }
  }`,
  JobSubscription: `subscription JobSubscription($id: ID!) { job(id: $id) { id status } }`,
  UserSubscription: `subscription UserSubscription($id: ID!) { user(id: $id) { id name updatedAt } }`,
}

export type DocumentName = keyof typeof documents

/** The text without the directives of Relay's compiler. */
export const textOf = (name: DocumentName) => documents[name].replace(/@(connection|catch)\(.*?\)/, '')
