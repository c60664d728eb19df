import { ownValue } from '@fusion-gateway/base'
import { filterText, id, integer, matching, maxEntries } from '@fusion-gateway/input'
import { maxPageSize } from '@fusion-gateway/prisma-trees'
import { z } from 'zod'
import { accountLink } from '../domain/account/account.input.ts'
import { fullAccountSelection, fullUserSelection, userSelection } from '../domain/account/account.transfer.ts'
import { newJob } from '../domain/job/job.input.ts'
import { jobSelection } from '../domain/job/job.transfer.ts'
import { profileChange } from '../domain/profile/profile.input.ts'
import { profileSelection } from '../domain/profile/profile.transfer.ts'
import { newUser, userChange } from '../domain/user/user.input.ts'
import { readIdList, readObject, readPageSize, readText } from './inputs.ts'
import type { Parameter, Route, RouteInput } from './route.ts'

const userErrors = 'userErrors { code message field }'

/** REST has the header `If-Match` for what is `expectedUpdatedAt` in GraphQL, so the body does not have this field. */
const ifMatchInstead = { expected_updated_at: undefined }

/** A body in which null leaves fields unchanged, as in the interface of the earlier service. GraphQL rejects it. */
function withoutNulls(body: Record<string, unknown>, ...fields: readonly string[]): Record<string, unknown> {
  return { ...body, ...Object.fromEntries(fields.map((field) => [field, ownValue(body, field) ?? undefined])) }
}

/**
 * The id in a path. Swagger UI and Postman send the example, so that of a route that deletes its row or changes its
 * state is a row that no other example needs.
 */
const idInPath =
  (name: string, first: string) =>
  (variable: string, example = first): Parameter => ({
    in: 'path',
    name: 'id',
    variable,
    description: `The id of the ${name}.`,
    rules: id,
    example,
  })

const userId = idInPath('user', 'usr_demo_1')
const accountId = idInPath('account', 'acc_demo_1_1')
const jobId = idInPath('job', 'job_demo_1')

const pageSize = (plural: string): Parameter => ({
  in: 'query',
  name: 'limit',
  variable: 'first',
  description: `The number of ${plural}: 1–500. 20 by default.`,
  rules: integer(1, maxPageSize),
  example: 20,
})

const pageCursor: Parameter = {
  in: 'query',
  name: 'cursor',
  variable: 'after',
  description: 'The start of the page, from the last `Link`.',
  rules: z.string().check(matching(/^[\w-]+$/, 'must be a cursor')),
}

/** The filter of users by their external ids. Null: it has none, and the response depends on nothing else. */
function externalIdsIn({ query }: RouteInput): object | null {
  const given = ownValue(query, 'external_id')
  return given === undefined ? null : { external_ids: [given].flat() }
}

const toolCursor = 'The start of the page: `next_cursor` of the page before.'

const jobRoutes: readonly Route[] = [
  {
    method: 'POST',
    url: '/fusion/jobs',
    summary: 'Create a job',
    operation: `mutation CreateJob($input: CreateJobInput!) {
      createJob(input: $input) { job { ${jobSelection} } ${userErrors} }
    }`,
    parameters: [],
    body: {
      variable: 'input',
      description: 'The job to create. Unknown fields are ignored.',
      rules: newJob,
      example: { job_type: 'fetch_content', payload: { url: 'https://example.com/feed.xml' } },
    },
    variables: (request) => ({ input: readObject(request) }),
    response: 'createJob.job',
    component: 'Job',
    location: ({ id }) => `/fusion/jobs/${encodeURIComponent(id)}`,
  },
  {
    method: 'GET',
    url: '/fusion/jobs',
    summary: 'List jobs',
    description:
      'Returns a page of the jobs of the tenant, oldest first, and the header `Link` with `rel="next"` if there are more.',
    operation: `query ListJobs($filter: JobFilter, $first: Int, $after: String) {
      jobs(filter: $filter, first: $first, after: $after) {
        nodes { ${jobSelection} } pageInfo { hasNextPage endCursor }
      }
    }`,
    parameters: [
      {
        in: 'query',
        name: 'status',
        variable: 'filter.status',
        description: 'The state of the jobs.',
        rules: z.string(),
        example: 'succeeded',
      },
      {
        in: 'query',
        name: 'job_type',
        variable: 'filter.jobType',
        description: 'The exact type of the jobs.',
        rules: filterText,
        example: 'fetch_content',
      },
      pageSize('jobs'),
      pageCursor,
    ],
    variables: (request) => ({
      filter: { status: readText(request, 'status'), job_type: readText(request, 'job_type') },
      first: readPageSize(request, 'limit'),
      after: readText(request, 'cursor'),
    }),
    tool: { description: 'Lists the jobs, oldest first, page by page.', cursor: toolCursor },
    response: 'jobs.nodes',
    listKey: 'jobs',
    component: 'Job',
    connection: 'jobs',
  },
  {
    method: 'GET',
    url: '/fusion/jobs/:id',
    summary: 'Get a job',
    operation: `query GetJob($id: ID!) {
      job(id: $id) { ${jobSelection} }
    }`,
    parameters: [jobId('id')],
    variables: ({ params }) => ({ id: params['id'] }),
    response: 'job',
    component: 'Job',
  },
  {
    method: 'POST',
    url: '/fusion/jobs/:id/cancel',
    summary: 'Cancel a job that waits or runs',
    description: 'A finished job is rejected.',
    operation: `mutation CancelJob($input: CancelJobInput!) {
      cancelJob(input: $input) { job { ${jobSelection} } ${userErrors} }
    }`,
    parameters: [jobId('input.id', 'job_demo_2')],
    variables: ({ params }) => ({ input: { id: params['id'] } }),
    response: 'cancelJob.job',
    component: 'Job',
  },
  {
    method: 'POST',
    url: '/fusion/jobs/:id/retry',
    summary: 'Make a failed or cancelled job due again',
    description: 'The job has its remaining attempts, but at least one. A job in another state is rejected.',
    operation: `mutation RetryJob($input: RetryJobInput!) {
      retryJob(input: $input) { job { ${jobSelection} } ${userErrors} }
    }`,
    parameters: [jobId('input.id', 'job_demo_3')],
    variables: ({ params }) => ({ input: { id: params['id'] } }),
    response: 'retryJob.job',
    component: 'Job',
  },
]

const userRoutes: readonly Route[] = [
  {
    method: 'POST',
    url: '/users',
    summary: 'Create a user',
    operation: `mutation CreateUser($input: CreateUserInput!) {
      createUser(input: $input) { user { ${userSelection} } ${userErrors} }
    }`,
    parameters: [],
    body: {
      variable: 'input',
      description: 'The user to create. Unknown fields are ignored.',
      rules: newUser,
      example: { name: 'Grace Hopper', email: 'grace@example.com', phone: '+1 555 0100' },
    },
    variables: (request) => ({ input: readObject(request) }),
    response: 'createUser.user',
    component: 'NewUser',
    location: ({ id }) => `/users/${encodeURIComponent(id)}`,
  },
  {
    method: 'GET',
    url: '/users',
    summary: 'List users',
    description:
      'Returns all users of the tenant, oldest first: more than 500 are streamed. With `limit` or `cursor` it returns one page, and the header `Link` ' +
      'with `rel="next"` if there are more. If a stream fails, the connection is closed before the end of the list.',
    operation: `query ListUsers($filter: UserFilter, $first: Int, $after: String) {
      users(filter: $filter, first: $first, after: $after) { nodes { ${fullUserSelection} } pageInfo { hasNextPage endCursor } }
    }`,
    parameters: [
      {
        in: 'query',
        name: 'external_id',
        variable: 'filter.externalIds',
        description: 'Only the users with these ids of your own system. The parameter can be repeated.',
        rules: z.array(filterText).max(maxEntries),
        isRepeated: true,
      },
      { ...pageSize('users'), description: 'The number of users: 1–500. 20 if only `cursor` is given.' },
      pageCursor,
    ],
    variables: (request) => ({
      filter: externalIdsIn(request),
      first: readPageSize(request, 'limit'),
      after: readText(request, 'cursor'),
    }),
    tool: {
      description: 'Lists the users with their accounts, oldest first, page by page.',
      limit: 'The number of users: 1–500; 20 by default.',
      cursor: toolCursor,
    },
    response: 'users.nodes',
    listKey: 'users',
    component: 'User',
    connection: 'users',
    streams: true,
  },
  {
    method: 'GET',
    url: '/users/:id',
    summary: 'Get a user',
    operation: `query GetUser($id: ID!) { user(id: $id) { ${fullUserSelection} } }`,
    parameters: [userId('id')],
    variables: ({ params }) => ({ id: params['id'] }),
    response: 'user',
    version: 'user.updated_at',
    component: 'User',
  },
  {
    method: 'PUT',
    url: '/users/:id',
    summary: 'Update a user',
    description:
      'Absent fields keep their value. Null clears `phone`, `external_id` and `metadata`; `name: null` and `email: null` change nothing.',
    operation: `mutation UpdateUser($input: UpdateUserInput!) {
      updateUser(input: $input) { user { ${fullUserSelection} } ${userErrors} }
    }`,
    parameters: [userId('input.id')],
    body: {
      variable: 'input',
      without: ['id', 'expectedUpdatedAt'],
      description: 'The changes. Unknown fields are ignored.',
      rules: userChange,
      example: { name: 'Rear Admiral Grace Hopper', phone: null },
    },
    variables: (request) => ({
      input: { ...withoutNulls(readObject(request), 'name', 'email'), ...ifMatchInstead, id: request.params['id'] },
    }),
    response: 'updateUser.user',
    component: 'User',
  },
  {
    method: 'DELETE',
    url: '/users/:id',
    summary: 'Delete a user',
    description: "The user's accounts, profiles and emails are deleted too.",
    operation: `mutation DeleteUser($input: DeleteUserInput!) {
      deleteUser(input: $input) { deletedUserId ${userErrors} }
    }`,
    parameters: [userId('input.id', 'usr_demo_24')],
    variables: ({ params }) => ({ input: { id: params['id'] } }),
    response: 'deleteUser.deletedUserId',
  },
]

const getProfiles: Route = {
  method: 'GET',
  url: '/fusion/profiles',
  summary: 'Get profiles of accounts',
  description:
    'Returns the profiles in the order of the ids, each once. Unknown ids are ignored. The ids are in `account_ids`, or a JSON array ' +
    'as the body of the GET, or the same in both.',
  operation: `query GetProfiles($accountIds: [ID!]!) {
    profiles(accountIds: $accountIds) { ${profileSelection} }
  }`,
  parameters: [
    {
      in: 'query',
      name: 'account_ids',
      variable: 'accountIds',
      description: 'The ids of the accounts: a JSON array, the parameter repeated, or ids separated by commas.',
      rules: z.array(id).max(maxPageSize),
      example: ['acc_demo_1_1', 'acc_demo_2_1'],
    },
  ],
  body: {
    variable: 'accountIds',
    isOptional: true,
    description: 'The ids of the accounts.',
    rules: z.array(id).max(maxPageSize),
    example: ['acc_demo_1_1', 'acc_demo_2_1'],
  },
  variables: (request) => ({ accountIds: readIdList(request, 'account_ids') }),
  tool: {
    description: 'Gets the profiles of accounts in the order of the ids, each once. Unknown ids are ignored.',
    account_ids: 'The ids of the accounts.',
  },
  response: 'profiles',
  listKey: 'profiles',
  component: 'Profile',
}

/** The same for clients and proxies that cannot send a GET with a body. */
const getProfilesByPost: Route = {
  ...getProfiles,
  method: 'POST',
  summary: 'Get profiles of accounts by POST',
  description:
    'Reads as the GET does, for clients that cannot send a GET with a body. The ids are the body, in `account_ids`, or the same in both.',
  operation: getProfiles.operation.replace('GetProfiles', 'GetProfilesByPost'),
  repeats: getProfiles,
}

const profileRoutes: readonly Route[] = [
  getProfiles,
  getProfilesByPost,
  {
    method: 'GET',
    url: '/accounts/:id/profile',
    summary: 'Get the profile of an account',
    operation: `query GetProfile($id: ID!) {
      account(id: $id) { id profile { ${profileSelection} } state: profile { id updatedAt } }
    }`,
    parameters: [accountId('id')],
    variables: ({ params }) => ({ id: params['id'] }),
    response: 'account.profile',
    version: 'account.state.updatedAt',
    component: 'Profile',
  },
  {
    method: 'GET',
    url: '/accounts/:id/profile/history',
    summary: 'Get a number of a profile over time',
    description:
      'Returns a point for each interval in which a synchronization changed a number of the profile, oldest first: the start of the interval in ' +
      'UTC, the last number in it, and the change since the point before. At most 1,000 points.',
    operation: `query GetProfileHistory($id: ID!, $metric: ProfileMetric!, $from: DateTime, $to: DateTime, $interval: HistoryInterval) {
      account(id: $id) {
        id profile { id history(metric: $metric, from: $from, to: $to, interval: $interval) { at value change } }
      }
    }`,
    parameters: [
      accountId('id'),
      {
        in: 'query',
        name: 'metric',
        variable: 'metric',
        description: 'The number: `followers`, `following`, `subscribers`, `contents` or `watch_time`.',
        rules: z.string(),
        example: 'followers',
      },
      {
        in: 'query',
        name: 'from',
        variable: 'from',
        description: 'The start of the range. 90 days before `to` by default.',
        rules: z.string(),
        example: '2026-01-01T00:00:00Z',
      },
      {
        in: 'query',
        name: 'to',
        variable: 'to',
        description: 'The end of the range. Now by default.',
        rules: z.string(),
        example: '2027-12-31T00:00:00Z',
      },
      {
        in: 'query',
        name: 'interval',
        variable: 'interval',
        description: 'The length of the intervals: `day`, `week` or `month`. `day` by default.',
        rules: z.string(),
        example: 'week',
      },
    ],
    variables: (request) => ({
      id: request.params['id'],
      metric: readText(request, 'metric'),
      from: readText(request, 'from'),
      to: readText(request, 'to'),
      interval: readText(request, 'interval'),
    }),
    response: 'account.profile.history',
    listKey: 'history',
    component: 'MetricPoint',
  },
  {
    method: 'PUT',
    url: '/accounts/:id/profile',
    summary: 'Create or change the profile of an account',
    description: 'Absent fields keep their value, null clears it, and a list replaces the list.',
    operation: `mutation SyncProfile($input: SyncProfileInput!) {
      syncProfile(input: $input) { profile { ${profileSelection} } ${userErrors} }
    }`,
    parameters: [accountId('input.accountId')],
    body: {
      variable: 'input',
      // The names of the entries of `unsupportedFields` are those of GraphQL, and no response of REST has it.
      without: ['accountId', 'unsupportedFields', 'expectedUpdatedAt'],
      description: 'The profile. Unknown fields are ignored.',
      rules: profileChange,
      example: {
        username: 'grace',
        followers_count: 120_000,
        date_of_birth: '1906:12:09',
        emails: [{ value: 'grace@example.com', type: 'work', is_primary: true }],
      },
    },
    variables: (request) => ({
      input: {
        ...readObject(request),
        ...ifMatchInstead,
        unsupported_fields: undefined,
        account_id: request.params['id'],
      },
    }),
    response: 'syncProfile.profile',
    component: 'Profile',
  },
]

const accountRoutes: readonly Route[] = [
  {
    method: 'GET',
    url: '/users/:id/accounts',
    summary: 'List the accounts of a user',
    description: 'Returns all of them, oldest first.',
    operation: `query ListAccounts($id: ID!) { user(id: $id) { id accounts { ${fullAccountSelection} } } }`,
    parameters: [userId('id')],
    variables: ({ params }) => ({ id: params['id'] }),
    response: 'user.accounts',
    listKey: 'accounts',
    component: 'LinkedAccount',
  },
  {
    method: 'POST',
    url: '/users/:id/accounts',
    summary: 'Link an account to a user',
    description:
      'Linking an account to the same user again returns the first link unchanged. An account of another user is rejected.',
    operation: `mutation LinkAccount($input: LinkAccountInput!) {
      linkAccount(input: $input) { account { ${fullAccountSelection} } ${userErrors} }
    }`,
    parameters: [userId('input.userId')],
    body: {
      variable: 'input',
      // In a tool of MCP, the argument `id` is the user.
      without: ['id', 'userId', 'userExternalId'],
      description: 'The account to link. Unknown fields are ignored.',
      rules: accountLink,
      example: { user_platform: 'YOUTUBE', platform_account_id: 'UC2', display_name: 'Grace on YouTube' },
    },
    variables: (request) => ({
      input: { ...readObject(request), id: undefined, user_external_id: undefined, user_id: request.params['id'] },
    }),
    response: 'linkAccount.account',
    component: 'LinkedAccount',
    location: ({ id }) => `/accounts/${encodeURIComponent(id)}`,
  },
  {
    method: 'GET',
    url: '/accounts/:id',
    summary: 'Get an account',
    operation: `query GetAccount($id: ID!) { account(id: $id) { ${fullAccountSelection} } }`,
    parameters: [accountId('id')],
    variables: ({ params }) => ({ id: params['id'] }),
    response: 'account',
    version: 'account.updated_at',
    component: 'LinkedAccount',
  },
  {
    method: 'DELETE',
    url: '/accounts/:id',
    summary: 'Unlink an account',
    description: 'The profile and the emails of the account are deleted too.',
    operation: `mutation UnlinkAccount($input: UnlinkAccountInput!) {
      unlinkAccount(input: $input) { unlinkedAccountId ${userErrors} }
    }`,
    parameters: [accountId('input.id', 'acc_demo_25_1')],
    variables: ({ params }) => ({ input: { id: params['id'] } }),
    response: 'unlinkAccount.unlinkedAccountId',
  },
]

/** The REST interface: a route per row. */
export const routes: readonly Route[] = [userRoutes, accountRoutes, profileRoutes, jobRoutes].flat()

/** The route that reads what a route writes, if `If-Match` can name it. */
export function readOf({ method, url }: Route): Route | undefined {
  return method === 'GET' ? undefined : routes.find((route) => route.url === url && route.version !== undefined)
}
