import type { AccountStatus as AccountStatusRow } from '../../engine/db/generated/prisma/enums.ts'
import { after, containing, equal } from '../../engine/db/read/list.ts'
import { byTime } from '../../engine/db/read/order.ts'
import { builder } from '../../engine/graphql/schema/builder.ts'
import { defineFilter } from '../../engine/graphql/schema/filter.ts'
import { defineList } from '../../engine/graphql/schema/list.ts'
import { defineMutation, inputWithId } from '../../engine/graphql/schema/mutation.ts'
import { defineQueryById, Node, registerNode } from '../../engine/graphql/schema/node.ts'
import { defineOrder } from '../../engine/graphql/schema/order.ts'
import { referencedRowOf, rowsOf } from '../../engine/graphql/schema/rows.ts'
import { User } from '../user/user.graphql.ts'
import { userById } from '../user/user.ts'
import { linkAccount, unlinkAccount, updateAccount } from './account.service.ts'
import { accountById, accountIds, accountsOfUser } from './account.ts'

const AccountStatus = builder.enumType('AccountStatus', {
  description: 'Whether the tenant can read the account on its platform.',
  values: {
    CONNECTED: { description: 'The tenant can read the account.' },
    EXPIRED: { description: 'The permission has expired. The user must connect the account again.' },
    DISCONNECTED: { description: 'The permission was withdrawn.' },
  } satisfies Record<AccountStatusRow, { description: string }>,
})

export const Account = builder.prismaObject('Account', {
  scope: 'inherited',
  description: "A user's account on a platform.",
  interfaces: [Node],
  fields: (t) => ({
    platform: t.exposeString('platform', { description: 'The platform in upper case, such as `YOUTUBE`.' }),
    platformAccountId: t.exposeString('platformAccountId', { description: 'The id of the account on the platform.' }),
    displayName: t.exposeString('displayName', { description: 'The name that the platform shows.' }),
    status: t.expose('status', { type: AccountStatus, description: 'Whether the platform lets the tenant read it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The creation time.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
    user: t.field({
      type: User,
      scope: 'users:read',
      description: 'The user that the account belongs to.',
      ...referencedRowOf(userById, 'userId'),
    }),
  }),
})

registerNode('Account', accountIds, 'users:read', accountById)

builder.prismaObjectField(User, 'accounts', (t) =>
  t.field({
    type: [Account],
    scope: 'users:read',
    description: "The user's platform accounts, oldest first.",
    ...rowsOf(accountsOfUser, 'id'),
  }),
)

defineQueryById('account', Account, 'users:read', accountById)

defineList('accounts', {
  model: 'Account',
  type: Account,
  plural: 'accounts',
  scope: 'users:read',
  description: "Lists your tenant's accounts.",
  selection: {
    filter: defineFilter('Account', 'accounts', (f) => ({
      platform: f.text({ description: 'The platform in upper case.', isScan: true, where: equal('platform') }),
      userId: f.id({ description: 'The id of the user.', where: equal('userId') }),
      status: f.value(AccountStatus, { description: 'The state.', isScan: true, where: equal('status') }),
      search: f.text({
        description: 'A part of the display name or of the platform account id. Case is ignored.',
        isScan: true,
        where: containing('displayName', 'platformAccountId'),
      }),
      updatedAfter: f.time({ description: 'Changed after this time.', where: after('updatedAt') }),
    })),
    order: defineOrder(
      'Account',
      'accounts',
      {
        CREATED_AT: { description: 'The creation time.', by: (direction) => byTime('createdAt', direction) },
        UPDATED_AT: { description: 'The time of the last change.', by: (direction) => byTime('updatedAt', direction) },
      },
      { field: 'CREATED_AT', direction: 'ASC' },
    ),
    defaultOrder: 'Oldest first',
  },
})

defineMutation('linkAccount', {
  scope: 'users:write',
  description:
    'Links a platform account to a user. Linking it to the same user again returns the first link unchanged. An account ' +
    'of another user is rejected with CONFLICT.',
  inputDescription: 'The account to link.',
  input: (t) => ({
    userId: t.id({ required: true, description: 'The id of the user.' }),
    platform: t.string({ required: true, description: 'The platform in upper case, such as `YOUTUBE`.' }),
    platformAccountId: t.string({
      required: true,
      description: 'The id of the account on the platform: 1–128 characters. It is unique per platform in your tenant.',
    }),
    displayName: t.string({ required: true, description: 'The name that the platform shows: 1–200 characters.' }),
    status: t.field({ type: AccountStatus, description: 'The state. `CONNECTED` by default.' }),
    id: t.id({ description: 'The id to give the account, if it comes from another system. Generated if absent.' }),
  }),
  results: [{ field: 'account', type: Account, description: 'The linked account.' }],
  run: linkAccount,
})

defineMutation('updateAccount', {
  scope: 'users:write',
  description: 'Changes an account.',
  inputDescription: 'The changes.',
  inputRules: 'The platform and the platform account id cannot change.',
  input: (t) => ({
    id: t.id({ required: true, description: 'The id of the account.' }),
    displayName: t.string({ description: 'The name that the platform shows: 1–200 characters. Null keeps it.' }),
    status: t.field({ type: AccountStatus, description: 'The state. Null keeps it.' }),
  }),
  results: [{ field: 'account', type: Account, description: 'The changed account.', scope: 'users:read' }],
  hasOneWrite: true,
  run: updateAccount,
})

defineMutation('unlinkAccount', {
  scope: 'users:write',
  description: 'Unlinks an account and deletes its profile and emails.',
  inputDescription: 'The account to unlink.',
  input: inputWithId('account'),
  results: [{ field: 'unlinkedAccountId', type: 'ID', description: 'The id of the unlinked account.' }],
  hasOneWrite: true,
  run: unlinkAccount,
})
