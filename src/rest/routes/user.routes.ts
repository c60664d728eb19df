import { newUser, userChange } from '../../domain/user/user.input.ts'
import { fullUserSelection, userSelection } from '../../domain/user/user.transfer.ts'
import { readObject, readPageSize, readText } from '../inputs.ts'
import type { Route } from '../route.ts'
import { pageCursor, pageSize, toolCursor, userErrors, userId } from './parameters.ts'

export const userRoutes: readonly Route[] = [
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
      { ...pageSize('users'), description: 'The number of users: 1–500. 20 if only `cursor` is given.' },
      pageCursor,
    ],
    variables: (request) => ({ first: readPageSize(request, 'limit'), after: readText(request, 'cursor') }),
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
    parameters: [userId('input.id')],
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
