/** A tab that GraphiQL opens with. */
export interface StartingTab {
  readonly query: string
  readonly variables?: string
}

/** What a developer sees first: one tab for each thing that the gateway does. The ids are those of the demo tenant. */
export const startingTabs: readonly StartingTab[] = [
  {
    query: `# Users, their accounts, the profiles and emails of those accounts: one query, four SQL statements.
# Press Ctrl-Enter. The header x-api-key is below.
query Users {
  users(first: 5) {
    nodes {
      id
      name
      accounts {
        platform
        displayName
        profile {
          username
          followersCount
          emails { value isPrimary }
        }
      }
    }
    pageInfo { hasNextPage endCursor }
    totalCount
  }
}
`,
  },
  {
    query: `# One user by id.
query User($id: ID!) {
  user(id: $id) {
    id
    name
    email
    phone
    createdAt
    accounts { id platform platformAccountId displayName }
  }
}
`,
    variables: JSON.stringify({ id: 'usr_demo_1' }, null, 2),
  },
  {
    query: `# Profiles of accounts, in the order asked.
query Profiles($accountIds: [ID!]!) {
  profiles(accountIds: $accountIds) {
    id
    platform
    username
    fullName
    dateOfBirth
    followersCount
    emails { value type isVerified }
    account { user { name } }
  }
}
`,
    variables: JSON.stringify({ accountIds: ['acc_demo_1_1', 'acc_demo_2_1'] }, null, 2),
  },
  {
    query: `# A job: asynchronous work with its payload and its result.
query Job($id: ID!) {
  job(id: $id) { id status jobType payload result attempts createdAt updatedAt }
}
`,
    variables: JSON.stringify({ id: 'job_demo_1' }, null, 2),
  },
  {
    query: `# Make a user, then change one. Choose which of the two to run at the play button.
mutation Create($create: CreateUserInput!) {
  createUser(input: $create) {
    user { id name email phone }
    userErrors { code field message }
  }
}

mutation Update($update: UpdateUserInput!) {
  updateUser(input: $update) {
    user { id name phone updatedAt }
    userErrors { code field message }
  }
}
`,
    variables: JSON.stringify(
      {
        create: { name: 'Grace Hopper', email: 'grace@example.com', phone: '+1 555 0100' },
        update: { id: 'usr_demo_1', phone: '+1 555 0199' },
      },
      null,
      2,
    ),
  },
]
