import { builder } from '../graphql/builder.ts'
import { existing } from '../graphql/existing.ts'
import { Node } from '../graphql/node.ts'
import { User } from '../user/user.graphql.ts'

export const Account = builder.prismaObject('Account', {
  description: "A user's account on a platform.",
  interfaces: [Node],
  fields: (t) => ({
    platform: t.exposeString('platform', { description: 'The platform, in upper case: `YOUTUBE`.' }),
    platformAccountId: t.exposeString('platformAccountId', { description: "The platform's own id of the account." }),
    displayName: t.exposeString('displayName', { description: 'The name shown on the platform.' }),
    user: t.field({
      type: User,
      description: 'The user who linked the account.',
      resolve: async ({ userId }, _, { loaders }) => existing(await loaders.userById.load(userId)),
    }),
  }),
})

builder.prismaObjectField(User, 'accounts', (t) =>
  t.field({
    type: [Account],
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
