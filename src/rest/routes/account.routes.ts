import { accountLink } from '../../domain/account/account.input.ts'
import { fullAccountSelection } from '../../domain/user/user.transfer.ts'
import { readObject } from '../inputs.ts'
import type { Route } from '../route.ts'
import { accountId, userErrors, userId } from './parameters.ts'

export const accountRoutes: readonly Route[] = [
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
      without: ['id', 'userId'],
      description: 'The account to link. Unknown fields are ignored.',
      rules: accountLink,
      example: { user_platform: 'YOUTUBE', platform_account_id: 'UC2', display_name: 'Grace on YouTube' },
    },
    variables: (request) => ({ input: { ...readObject(request), id: undefined, user_id: request.params['id'] } }),
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
