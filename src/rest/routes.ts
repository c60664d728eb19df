import { z } from 'zod'
import { jobSelection } from '../domain/job/job.transfer.ts'
import { profileSelection } from '../domain/profile/profile.transfer.ts'
import { newUser, userChange } from '../domain/user/user.input.ts'
import { fullUserSelection, userSelection } from '../domain/user/user.transfer.ts'
import { maxPageSize } from '../engine/graphql/schema/connection.ts'
import { id, integer, matching } from '../engine/input/rules.ts'
import { readIdList, readObject, readPageSize, readText } from './inputs.ts'
import type { Parameter, Route } from './route.ts'

const userErrors = 'userErrors { code message field }'

const userId: Parameter = {
  in: 'path',
  name: 'id',
  variable: 'id',
  description: 'The id of the user.',
  rules: id,
  example: 'usr_demo_1',
}

const maxAccountIds = 500

/** The REST interface: a route per row. */
export const routes: readonly Route[] = [
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
      'Streams all users of the tenant, oldest first. With `limit` or `cursor` it returns one page, and the header `Link` ' +
      'with `rel="next"` if there are more. If a stream fails, the connection is closed before the end of the list.',
    operation: `query ListUsers($first: Int, $after: String) {
      users(first: $first, after: $after) { nodes { ${fullUserSelection} } pageInfo { hasNextPage endCursor } }
    }`,
    parameters: [
      {
        in: 'query',
        name: 'limit',
        variable: 'first',
        description: 'The number of users: 1–500. 20 if only `cursor` is given.',
        rules: integer(1, maxPageSize),
        example: 20,
      },
      {
        in: 'query',
        name: 'cursor',
        variable: 'after',
        description: 'The start of the page, from the last `Link`.',
        rules: z.string().check(matching(/^[\w-]+$/, 'must be a cursor')),
      },
    ],
    variables: (request) => ({ first: readPageSize(request, 'limit'), after: readText(request, 'cursor') }),
    tool: {
      description: 'Lists the users with their accounts, oldest first, page by page.',
      limit: 'The number of users: 1–500; 20 by default.',
      cursor: 'The start of the page: `next_cursor` of the page before.',
    },
    response: 'users.nodes',
    listKey: 'users',
    component: 'User',
    connection: 'users',
  },
  {
    method: 'GET',
    url: '/users/:id',
    summary: 'Get a user',
    operation: `query GetUser($id: ID!) { user(id: $id) { ${fullUserSelection} } }`,
    parameters: [userId],
    variables: ({ params }) => ({ id: params['id'] }),
    response: 'user',
    component: 'User',
  },
  {
    method: 'PUT',
    url: '/users/:id',
    summary: 'Update a user',
    description:
      'Absent fields keep their value. `phone: null` clears the phone number; `name: null` and `email: null` change nothing.',
    operation: `mutation UpdateUser($input: UpdateUserInput!) {
      updateUser(input: $input) { user { ${fullUserSelection} } ${userErrors} }
    }`,
    parameters: [{ ...userId, variable: 'input.id' }],
    body: {
      variable: 'input',
      without: ['id'],
      description: 'The changes. Unknown fields are ignored.',
      rules: userChange,
      example: { name: 'Rear Admiral Grace Hopper', phone: null },
    },
    variables: (request) => ({ input: { ...readObject(request), id: request.params['id'] } }),
    response: 'updateUser.user',
    component: 'User',
  },
  {
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
        rules: z.array(id).max(maxAccountIds),
        example: ['acc_demo_1_1', 'acc_demo_2_1'],
      },
    ],
    body: {
      variable: 'accountIds',
      isOptional: true,
      description: 'The ids of the accounts.',
      rules: z.array(id).max(maxAccountIds),
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
  },
  {
    method: 'GET',
    url: '/fusion/jobs/:id',
    summary: 'Get a job',
    operation: `query GetJob($id: ID!) {
      job(id: $id) { ${jobSelection} }
    }`,
    parameters: [
      {
        in: 'path',
        name: 'id',
        variable: 'id',
        description: 'The id of the job.',
        rules: id,
        example: 'job_demo_1',
      },
    ],
    variables: ({ params }) => ({ id: params['id'] }),
    response: 'job',
    component: 'Job',
  },
]
