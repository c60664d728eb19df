/** A tab that GraphiQL opens with. */
export interface StartingTab {
  readonly query: string
  readonly variables?: string
}

const json = (value: unknown) => JSON.stringify(value, null, 2)

/**
 * What a developer sees first: a tab for each thing that the gateway does. GraphiQL names a tab after its operation.
 * The ids are those of the demo tenant. Comments are short, since the editor shows some fifty columns.
 */
export const startingTabs: readonly StartingTab[] = [
  {
    query: `# Users, accounts, profiles, emails: one query,
# four SQL statements. Press Ctrl-Enter.
# The header x-api-key is below.
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
    query: `# One user. The id is under Variables, below.
query User($id: ID!) {
  user(id: $id) {
    id
    name
    email
    phone
    createdAt
    accounts {
      id
      platform
      platformAccountId
      displayName
    }
  }
}
`,
    variables: json({ id: 'usr_demo_1' }),
  },
  {
    query: `# Profiles of accounts, in the order asked.
# The ids are under Variables, below.
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
    variables: json({ accountIds: ['acc_demo_1_1', 'acc_demo_2_1'] }),
  },
  {
    query: `# A job: work with a payload and a result.
# The id is under Variables, below.
query Job($id: ID!) {
  job(id: $id) {
    id
    status
    jobType
    payload
    result
    attempts
    error { code message }
    createdAt
    updatedAt
  }
}
`,
    variables: json({ id: 'job_demo_1' }),
  },
  {
    query: `# Make a job; it is worked on at once.
# Run Follow first, in the tab beside, to watch.
mutation CreateJob($input: CreateJobInput!) {
  createJob(input: $input) {
    job { id status }
    userErrors { code field message }
  }
}
`,
    variables: json({ input: { jobType: 'fetch_content', payload: { url: 'https://example.com/feed.xml' } } }),
  },
  {
    query: `# Follow the jobs live: the newest as they are,
# then those that change. Press again to stop.
subscription Follow {
  jobs(first: 3) {
    id
    status
    attempts
    progress
    progressMessage
    error { code message }
  }
}
`,
  },
  {
    query: `# Make a user, of what Variables says, below.
mutation Create($input: CreateUserInput!) {
  createUser(input: $input) {
    user { id name email phone }
    userErrors { code field message }
  }
}
`,
    variables: json({ input: { name: 'Grace Hopper', email: 'grace@example.com', phone: '+1 555 0100' } }),
  },
  {
    query: `# Change a user. What is absent stays as it is.
mutation Update($input: UpdateUserInput!) {
  updateUser(input: $input) {
    user { id name phone updatedAt }
    userErrors { code field message }
  }
}
`,
    variables: json({ input: { id: 'usr_demo_1', phone: '+1 555 0199' } }),
  },
]
