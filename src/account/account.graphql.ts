import type { Account as AccountRow } from '../db/generated/prisma/client.ts'
import { builder } from '../graphql/builder.ts'
import { existing } from '../graphql/existing.ts'
import { defineMutation } from '../graphql/mutation.ts'
import { Node, registerNode } from '../graphql/node.ts'
import { definePayload } from '../graphql/payload.ts'
import { User } from '../user/user.graphql.ts'
import { linkAccount, unlinkAccount, updateAccount } from './account.service.ts'

export const Account = builder.prismaObject('Account', {
  scope: 'inherited',
  description: "A user's account on a platform.",
  interfaces: [Node],
  fields: (t) => ({
    platform: t.exposeString('platform', { description: 'The platform, in upper case: `YOUTUBE`.' }),
    platformAccountId: t.exposeString('platformAccountId', { description: "The platform's own id of the account." }),
    displayName: t.exposeString('displayName', { description: 'The name shown on the platform.' }),
    user: t.field({
      type: User,
      scope: 'users:read',
      description: 'The user who linked the account.',
      resolve: async ({ userId }, _, { loaders }) => existing(await loaders.userById.load(userId)),
    }),
  }),
})

registerNode('Account', 'users:read', (id, { loaders }) => loaders.accountById.load(id))

builder.prismaObjectField(User, 'accounts', (t) =>
  t.field({
    type: [Account],
    scope: 'users:read',
    description: 'The platform accounts that the user has linked, oldest first.',
    resolve: ({ id }, _, { loaders }) => loaders.accountsOfUser.load(id),
  }),
)

builder.queryField('account', (t) =>
  t.field({
    type: Account,
    nullable: true,
    scope: 'users:read',
    description: 'An account by id; null when the tenant has none with it.',
    args: { id: t.arg.id({ required: true, description: "The account's id." }) },
    resolve: (_, { id }, { loaders }) => loaders.accountById.load(id),
  }),
)

const LinkAccountInput = builder.inputType('LinkAccountInput', {
  description: 'A platform account to link to a user.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'The id of the user.' }),
    platform: t.string({ required: true, description: 'The platform, in upper case: `YOUTUBE`.' }),
    platformAccountId: t.string({
      required: true,
      description: "The platform's own id of the account: 1–128 characters. One account of the tenant may have it.",
    }),
    displayName: t.string({ required: true, description: 'The name shown on the platform: 1–200 characters.' }),
    id: t.id({ description: 'The id to keep, for an account that comes from elsewhere; made when absent.' }),
  }),
})

const LinkAccountPayload = definePayload<AccountRow>('LinkAccountPayload', 'account', Account, 'The linked account.')

defineMutation('linkAccount', {
  payload: LinkAccountPayload,
  scope: 'users:write',
  description:
    'Links a platform account to a user. Linking it to the same user again answers the first link; ' +
    'to another user of the tenant is refused as CONFLICT.',
  input: LinkAccountInput,
  inputDescription: 'The account.',
  work: linkAccount,
})

const UpdateAccountInput = builder.inputType('UpdateAccountInput', {
  description: 'What to change of an account. Its platform and platform account id never change.',
  fields: (t) => ({
    id: t.id({ required: true, description: "The account's id." }),
    displayName: t.string({ description: 'The name shown on the platform: 1–200 characters. Null: unchanged.' }),
  }),
})

const UpdateAccountPayload = definePayload<AccountRow>(
  'UpdateAccountPayload',
  'account',
  Account,
  'The account as it is now.',
  'users:read',
)

defineMutation('updateAccount', {
  payload: UpdateAccountPayload,
  scope: 'users:write',
  description: 'Changes an account.',
  input: UpdateAccountInput,
  inputDescription: 'What to change.',
  work: updateAccount,
})

const UnlinkAccountInput = builder.inputType('UnlinkAccountInput', {
  description: 'The account to unlink.',
  fields: (t) => ({ id: t.id({ required: true, description: "The account's id." }) }),
})

const UnlinkAccountPayload = definePayload<string>(
  'UnlinkAccountPayload',
  'unlinkedAccountId',
  'ID',
  'The id of the account that is gone.',
)

defineMutation('unlinkAccount', {
  payload: UnlinkAccountPayload,
  scope: 'users:write',
  description: 'Unlinks an account; its profile and emails go with it.',
  input: UnlinkAccountInput,
  inputDescription: 'The account.',
  work: unlinkAccount,
})
