import { z } from 'zod'
import { profileChange } from '../../domain/profile/profile.input.ts'
import { profileSelection } from '../../domain/profile/profile.transfer.ts'
import { id } from '../../engine/input/rules.ts'
import { readIdList, readObject } from '../inputs.ts'
import type { Route } from '../route.ts'
import { accountId, userErrors } from './parameters.ts'

const maxAccountIds = 500

export const profileRoutes: readonly Route[] = [
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
      // The names of its entries are those of GraphQL, and no response of REST has it.
      without: ['accountId', 'unsupportedFields'],
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
      input: { ...readObject(request), unsupported_fields: undefined, account_id: request.params['id'] },
    }),
    response: 'syncProfile.profile',
    component: 'Profile',
  },
]
