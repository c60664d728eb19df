import type { AccountStatus as AccountStatusRow } from '../../engine/db/generated/prisma/enums.ts'
import { isStorableText } from '../../engine/db/storable.ts'
import { builder } from '../../engine/graphql/schema/builder.ts'
import { defineBulkMutation } from '../../engine/graphql/schema/bulk-mutation.ts'
import type { EntityKey } from '../../engine/graphql/schema/federation.ts'
import { defineFilter, withText } from '../../engine/graphql/schema/filter.ts'
import { addLogic, addRelation } from '../../engine/graphql/schema/filter-tree.ts'
import { defineList } from '../../engine/graphql/schema/list.ts'
import { defineMutation, expectedUpdatedAt, ifUnchanged, inputWithId } from '../../engine/graphql/schema/mutation.ts'
import { Node, registerNode } from '../../engine/graphql/schema/node.ts'
import { defineOrder } from '../../engine/graphql/schema/order.ts'
import {
  defineNestedConnection,
  listArgs,
  listCost,
  listQuery,
  loadRow,
} from '../../engine/graphql/schema/relation-fields.ts'
import { defineLive } from '../event/live.graphql.ts'
import { defineLiveList } from '../event/live-list.graphql.ts'
import { User, UserFilter } from '../user/user.graphql.ts'
import { userById } from '../user/user.ts'
import {
  findByPlatform,
  linkAccount,
  linkAccounts,
  type PlatformAccount,
  unlinkAccount,
  unlinkAccounts,
  updateAccount,
} from './account.service.ts'
import { accountById, accountIds, accountsOfUser } from './account.ts'

export const AccountStatus = builder.enumType('AccountStatus', {
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
    user: t.relation('user', { scope: 'users:read', description: 'The user that the account belongs to.' }),
  }),
})

registerNode('Account', accountIds, 'users:read', accountById)

/** The key of an account for subgraphs that know only its platform. */
export const byPlatform: EntityKey<keyof PlatformAccount> = {
  fields: ['platform', 'platformAccountId'],
  async findIds(keys, { sql, viewer }) {
    const possible = keys.filter((key) => Object.values(key).every(isStorableText))
    const accountOf = await findByPlatform(sql, viewer.tenantAppId, possible)
    return keys.map((key) => accountOf(key)?.id)
  },
}

builder.queryField('account', (t) =>
  t.prismaField({
    type: Account,
    nullable: true,
    scope: 'users:read',
    description: 'Returns the account with this id, or null if your tenant has none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the account.' }) },
    root: { model: 'Account', ids: 'id' },
    resolve: (query, _root, { id }, { db }) => db.account.findFirst({ ...query, where: { id } }),
  }),
)

defineLive('account', {
  type: Account,
  scope: 'users:read',
  relation: accountById,
  follows: 'the account and its profile',
  by: 'accountId',
  find: async ({ rows }, id) => ((await rows.find('Account', [id])).has(id) ? id : null),
})

export const AccountFilter = defineFilter('Account', 'accounts', (f) => ({
  ids: f.ids({ description: 'The account has one of these ids.', where: (values) => ({ id: { in: values } }) }),
  platform: f.text({
    description: 'The platform in upper case.',
    isScan: true,
    where: (value) => ({ platform: value }),
  }),
  platforms: f.texts({
    description: 'One of these platforms.',
    isScan: true,
    where: (values) => ({ platform: { in: values } }),
  }),
  userId: f.id({ description: 'The id of the user.', where: (value) => ({ userId: value }) }),
  status: f.value(AccountStatus, { description: 'The state.', isScan: true, where: (value) => ({ status: value }) }),
  statuses: f.values(AccountStatus, {
    description: 'One of these states.',
    isScan: true,
    where: (values) => ({ status: { in: values } }),
  }),
  search: f.text({
    description: 'A part of the display name or of the platform account id. Case is ignored.',
    isScan: true,
    where: (text) => withText(text, 'displayName', 'platformAccountId'),
  }),
  updatedAfter: f.time({ description: 'Changed after this time.', where: (gt) => ({ updatedAt: { gt } }) }),
}))
addLogic(AccountFilter)
addRelation(AccountFilter, 'user', UserFilter, {
  description: 'The user that the account belongs to.',
  scope: 'users:read',
  where: (user) => ({ user }),
})
addRelation(UserFilter, 'account', AccountFilter, {
  description: 'Some account of the user.',
  scope: 'users:read',
  where: (some) => ({ accounts: { some } }),
})

const accounts = {
  model: 'Account',
  type: Account,
  plural: 'accounts',
  scope: 'users:read',
  selection: {
    filter: AccountFilter,
    order: defineOrder(
      'Account',
      'accounts',
      {
        CREATED_AT: { description: 'The creation time.', orderBy: (sort) => ({ createdAt: sort }) },
        UPDATED_AT: { description: 'The time of the last change.', orderBy: (sort) => ({ updatedAt: sort }) },
      },
      { field: 'CREATED_AT', direction: 'ASC' },
    ),
    defaultOrder: 'Oldest first',
  },
} as const

const AccountConnection = defineList('accounts', {
  ...accounts,
  description: "Lists your tenant's accounts.",
})

defineLiveList('accounts', accounts)

builder.prismaObjectField(User, 'accounts', (t) =>
  t.relation('accounts', {
    scope: 'users:read',
    description: "The user's platform accounts, oldest first.",
    args: listArgs(t, accounts),
    query: listQuery(accounts),
    cost: listCost(accounts),
  }),
)

defineNestedConnection(User, 'accountsConnection', {
  ...accounts,
  relation: accountsOfUser,
  from: 'id',
  description: "The user's platform accounts",
  type: AccountConnection,
})

const linkAccountMutation = defineMutation('linkAccount', {
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

defineBulkMutation('linkAccounts', linkAccountMutation, {
  description: 'Links platform accounts to users, as `linkAccount` does.',
  inputsDescription: 'The accounts to link',
  run: linkAccounts,
})

defineMutation('updateAccount', {
  scope: 'users:write',
  description: 'Changes an account.',
  inputDescription: 'The changes.',
  inputRules: 'The platform and the platform account id cannot change.',
  input: (t) => ({
    id: t.id({ required: true, description: 'The id of the account.' }),
    displayName: t.string({ description: 'The name that the platform shows: 1–200 characters. Not null.' }),
    status: t.field({ type: AccountStatus, description: 'The state. Not null.' }),
    ...expectedUpdatedAt('account')(t),
  }),
  restrictions: ifUnchanged,
  results: [
    { field: 'account', type: Account, description: 'The changed account.', scope: 'users:read', current: 'instead' },
  ],
  transaction: false,
  run: updateAccount,
})

const unlinkAccountMutation = defineMutation('unlinkAccount', {
  scope: 'users:write',
  description: 'Unlinks an account and deletes its profile and emails.',
  inputDescription: 'The account to unlink.',
  input: (t) => ({ ...inputWithId('account')(t), ...expectedUpdatedAt('account')(t) }),
  restrictions: ifUnchanged,
  results: [
    { field: 'unlinkedAccountId', type: 'ID', description: 'The id of the unlinked account.', value: ({ id }) => id },
    {
      field: 'deletedProfileId',
      type: 'ID',
      description: 'The id of the profile that was deleted with the account, if it had one.',
      value: ({ profileId }) => profileId,
    },
    {
      field: 'user',
      type: User,
      description: 'The user that the account belonged to.',
      scope: 'users:read',
      value: ({ userId }, { loaders }) => loadRow(loaders, userById, userId),
    },
    {
      field: 'account',
      type: Account,
      description: 'The account as it is now, with CONFLICT of `expectedUpdatedAt`.',
      scope: 'users:read',
      current: 'only',
    },
  ],
  transaction: false,
  run: unlinkAccount,
})

defineBulkMutation('unlinkAccounts', unlinkAccountMutation, {
  description: 'Unlinks accounts and deletes their profiles and emails.',
  inputsDescription: 'The accounts to unlink',
  run: unlinkAccounts,
})
