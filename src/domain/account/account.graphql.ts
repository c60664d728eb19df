import type { AccountStatus as AccountStatusRow } from '@fusion-gateway/database'
import type { EntityKey } from '@fusion-gateway/pothos-trees'
import {
  equalTo,
  expectedUpdatedAt,
  ifUnchanged,
  inputWithId,
  listArgs,
  listCost,
  listQuery,
  oneOf,
  withText,
} from '@fusion-gateway/pothos-trees'
import { isStorableText } from '@fusion-gateway/sql'
import { builder } from '../builder.ts'
import { defineLive } from '../event/live.graphql.ts'
import { Node, registerNode } from '../node.graphql.ts'
import { User, UserFilter } from '../user/user.graphql.ts'
import {
  findByPlatform,
  linkAccount,
  linkAccounts,
  type PlatformAccount,
  unlinkAccount,
  unlinkAccounts,
  updateAccount,
} from './account.service.ts'
import { accountById, accountIds } from './account.ts'

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
})

export const AccountFilter = builder.filter('Account', {
  plural: 'accounts',
  fields: (t) => ({
    ids: t.idList({ description: 'The account has one of these ids.', where: oneOf('id') }),
    platform: t.string({ description: 'The platform in upper case.', isScan: true, where: equalTo('platform') }),
    platforms: t.stringList({ description: 'One of these platforms.', isScan: true, where: oneOf('platform') }),
    userId: t.id({ description: 'The id of the user.', where: equalTo('userId') }),
    status: t.enum(AccountStatus, { description: 'The state.', isScan: true, where: equalTo('status') }),
    statuses: t.enumList(AccountStatus, { description: 'One of these states.', isScan: true, where: oneOf('status') }),
    search: t.string({
      description: 'A part of the display name or of the platform account id. Case is ignored.',
      isScan: true,
      where: (text) => withText(text, 'displayName', 'platformAccountId'),
    }),
    updatedAfter: t.time({ description: 'Changed after this time.', where: (gt) => ({ updatedAt: { gt } }) }),
    ...t.logic(),
    user: t.relation(UserFilter, {
      description: 'The user that the account belongs to.',
      scope: 'users:read',
      where: (user) => ({ user }),
    }),
  }),
})

builder.filterField(UserFilter, 'account', (t) =>
  t.relation(AccountFilter, {
    description: 'Some account of the user.',
    scope: 'users:read',
    where: (some) => ({ accounts: { some } }),
  }),
)

const AccountOrder = builder.order('Account', {
  plural: 'accounts',
  fields: {
    CREATED_AT: { description: 'The creation time.', orderBy: (sort) => ({ createdAt: sort }) },
    UPDATED_AT: { description: 'The time of the last change.', orderBy: (sort) => ({ updatedAt: sort }) },
  },
  byDefault: { field: 'CREATED_AT', direction: 'ASC', description: 'Oldest first' },
})

const accounts = builder.list(Account, { plural: 'accounts', filter: AccountFilter, order: AccountOrder })

builder.queryField('accounts', (t) =>
  t.list(accounts, { scope: 'users:read', description: "Lists your tenant's accounts." }),
)

builder.prismaObjectFields(User, (t) => ({
  accounts: t.relation('accounts', {
    scope: 'users:read',
    description: "The user's platform accounts, oldest first.",
    args: listArgs(t, accounts),
    query: listQuery(accounts),
    cost: listCost(accounts),
  }),
  accountsConnection: t.relatedList('accounts', accounts, {
    scope: 'users:read',
    description: "The user's platform accounts",
  }),
}))

const linkAccountField = builder.writeField(
  'linkAccount',
  {
    description: 'The account to link.',
    inputFields: (t) => ({
      userId: t.id({ description: 'The id of the user. Required without `userExternalId`.' }),
      userExternalId: t.string({
        description: 'The `externalId` of the user, in place of `userId`. Both are rejected.',
      }),
      platform: t.string({ required: true, description: 'The platform in upper case, such as `YOUTUBE`.' }),
      platformAccountId: t.string({
        required: true,
        description:
          'The id of the account on the platform: 1–128 characters. It is unique per platform in your tenant.',
      }),
      displayName: t.string({ required: true, description: 'The name that the platform shows: 1–200 characters.' }),
      status: t.field({ type: AccountStatus, description: 'The state. `CONNECTED` by default.' }),
      id: t.id({ description: 'The id to give the account, if it comes from another system. Generated if absent.' }),
    }),
  },
  {
    scope: 'users:write',
    description:
      'Links a platform account to a user. Linking it to the same user again returns the first link unchanged. An account ' +
      'of another user is rejected with CONFLICT.',
    resolve: (_root, { input }, context) => linkAccount(context, input),
  },
  {
    outputFields: (t) => ({
      account: t.field({ type: Account, description: 'The linked account.', resolve: (account) => account }),
    }),
  },
)

builder.bulkWriteField('linkAccounts', linkAccountField, {
  description: 'Links platform accounts to users, as `linkAccount` does.',
  inputsDescription: 'The accounts to link',
  resolve: (_root, { inputs }, context) => linkAccounts(context, inputs),
})

builder.writeField(
  'updateAccount',
  {
    description: 'The changes.',
    rules: 'The platform and the platform account id cannot change.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The id of the account.' }),
      displayName: t.string({ description: 'The name that the platform shows: 1–200 characters. Not null.' }),
      status: t.field({ type: AccountStatus, description: 'The state. Not null.' }),
      ...expectedUpdatedAt('account')(t),
    }),
  },
  {
    scope: 'users:write',
    description: 'Changes an account.',
    restrictions: ifUnchanged,
    transaction: false,
    resolve: (_root, { input }, context) => updateAccount(context, input),
  },
  {
    outputFields: (t) => ({
      account: t.field({
        type: Account,
        description: 'The changed account.',
        scope: 'users:read',
        current: 'instead',
        resolve: (account) => account,
      }),
    }),
  },
)

const unlinkAccountField = builder.writeField(
  'unlinkAccount',
  {
    description: 'The account to unlink.',
    inputFields: (t) => ({ ...inputWithId('account')(t), ...expectedUpdatedAt('account')(t) }),
  },
  {
    scope: 'users:write',
    description: 'Unlinks an account and deletes its profile and emails.',
    restrictions: ifUnchanged,
    transaction: false,
    resolve: (_root, { input }, context) => unlinkAccount(context, input),
  },
  {
    outputFields: (t) => ({
      unlinkedAccountId: t.field({
        type: 'ID',
        description: 'The id of the unlinked account.',
        resolve: ({ id }) => id,
      }),
      deletedProfileId: t.field({
        type: 'ID',
        nullable: true,
        description: 'The id of the profile that was deleted with the account, if it had one.',
        resolve: ({ profileId }) => profileId,
      }),
      user: t.prismaField({
        type: User,
        nullable: true,
        description: 'The user that the account belonged to.',
        scope: 'users:read',
        resolve: (query, { userId }, _args, { db }) => db.user.findFirst({ ...query, where: { id: userId } }),
      }),
      account: t.field({
        type: Account,
        nullable: true,
        description: 'The account as it is now, with CONFLICT of `expectedUpdatedAt`.',
        scope: 'users:read',
        current: 'only',
        resolve: () => null,
      }),
    }),
  },
)

builder.bulkWriteField('unlinkAccounts', unlinkAccountField, {
  description: 'Unlinks accounts and deletes their profiles and emails.',
  inputsDescription: 'The accounts to unlink',
  resolve: (_root, { inputs }, context) => unlinkAccounts(context, inputs),
})
