import { fullUserFields, jobFields, profileFields, userFields } from './fields.ts'
import { bodyObject, idList, singleText, wholeNumber } from './inputs.ts'
import type { Parameter, Route } from './route.ts'

const userErrors = 'userErrors { code message field }'

const userId: Parameter = { in: 'path', name: 'id', variable: 'id', description: "The user's id." }

/** The documented REST interface: a row a route. */
export const routes: readonly Route[] = [
  {
    method: 'POST',
    url: '/users',
    summary: 'Create a user',
    operation: `mutation CreateUser($input: CreateUserInput!) {
      createUser(input: $input) { user { ${userFields} } ${userErrors} }
    }`,
    parameters: [],
    body: { variable: 'input', required: true, description: 'The new user. Unknown fields are ignored.' },
    variables: (request) => ({ input: bodyObject(request) }),
    answer: 'createUser.user',
    component: 'NewUser',
    makes: ({ id }) => `/users/${encodeURIComponent(id)}`,
  },
  {
    method: 'GET',
    url: '/users',
    summary: 'List users',
    description:
      'Every user of the tenant, oldest first, streamed. With `limit` or `cursor`: one page, and the header `Link` ' +
      'with `rel="next"` while there is more. A stream that fails is cut off, never ended as if it were complete.',
    operation: `query ListUsers($first: Int, $after: String) {
      users(first: $first, after: $after) { nodes { ${fullUserFields} } pageInfo { hasNextPage endCursor } }
    }`,
    parameters: [
      {
        in: 'query',
        name: 'limit',
        variable: 'first',
        description: 'How many users: 1–500. 20 when only `cursor` is given.',
      },
      { in: 'query', name: 'cursor', variable: 'after', description: 'Where the page begins: from the last `Link`.' },
    ],
    variables: (request) => ({ first: wholeNumber(request, 'limit'), after: singleText(request, 'cursor') }),
    answer: 'users.nodes',
    under: 'users',
    component: 'User',
    connection: 'users',
  },
  {
    method: 'GET',
    url: '/users/:id',
    summary: 'Get a user',
    operation: `query GetUser($id: ID!) { user(id: $id) { ${fullUserFields} } }`,
    parameters: [userId],
    variables: ({ params }) => ({ id: params['id'] }),
    answer: 'user',
    component: 'User',
  },
  {
    method: 'PUT',
    url: '/users/:id',
    summary: 'Update a user',
    description:
      'A field that is left out stays as it is. `phone: null` clears the phone; `name: null` and `email: null` change nothing.',
    operation: `mutation UpdateUser($input: UpdateUserInput!) {
      updateUser(input: $input) { user { ${fullUserFields} } ${userErrors} }
    }`,
    parameters: [{ ...userId, variable: 'input.id' }],
    body: {
      variable: 'input',
      without: ['id'],
      required: true,
      description: 'What to change. Unknown fields are ignored.',
    },
    variables: (request) => ({ input: { ...bodyObject(request), id: request.params['id'] } }),
    answer: 'updateUser.user',
    component: 'User',
  },
  {
    method: 'GET',
    url: '/fusion/profiles',
    summary: 'Get profiles of accounts',
    description:
      'The profiles in the order asked, each once; unknown ids are left out. The ids, at most 500, come as the JSON body ' +
      'of the GET or in `account_ids`, not in both.',
    operation: `query GetProfiles($accountIds: [ID!]!) {
      profiles(accountIds: $accountIds) { ${profileFields} }
    }`,
    parameters: [
      {
        in: 'query',
        name: 'account_ids',
        variable: 'accountIds',
        description: 'The ids of the accounts: a JSON array, or the parameter repeated, or ids separated by commas.',
      },
    ],
    body: { variable: 'accountIds', required: false, description: 'The ids of the accounts.' },
    variables: (request) => ({ accountIds: idList(request, 'account_ids') }),
    answer: 'profiles',
    under: 'profiles',
    component: 'Profile',
  },
  {
    method: 'GET',
    url: '/fusion/jobs/:id',
    summary: 'Get a job',
    operation: `query GetJob($id: ID!) {
      job(id: $id) { ${jobFields} }
    }`,
    parameters: [{ in: 'path', name: 'id', variable: 'id', description: "The job's id." }],
    variables: ({ params }) => ({ id: params['id'] }),
    answer: 'job',
    component: 'Job',
  },
]
