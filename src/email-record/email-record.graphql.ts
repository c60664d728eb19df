import { builder } from '../graphql/builder.ts'
import { existing } from '../graphql/existing.ts'
import { Node, registerNode } from '../graphql/node.ts'
import type { Items } from '../graphql/price.ts'
import { Profile } from '../profile/profile.graphql.ts'

const EmailRecord = builder.prismaObject('EmailRecord', {
  scope: 'inherited',
  description: 'One email address of a profile.',
  interfaces: [Node],
  fields: (t) => ({
    value: t.exposeString('value', { description: 'The email address.' }),
    type: t.exposeString('type', { nullable: true, description: 'The kind of address: `personal` or `work`, say.' }),
    isVerified: t.exposeBoolean('isVerified', { description: 'Whether the address is verified.' }),
    isPrimary: t.exposeBoolean('isPrimary', { description: 'Whether it is the primary address.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the record was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the record was last changed.' }),
    profileId: t.exposeID('profileId', { description: 'The id of the profile that the address belongs to.' }),
    profile: t.field({
      type: Profile,
      scope: 'profiles:read',
      description: 'The profile that the address belongs to.',
      resolve: async ({ profileId }, _, { loaders }) => existing(await loaders.profileById.load(profileId)),
    }),
  }),
})

registerNode('EmailRecord', 'contacts:read', (id, { loaders }) => loaders.emailRecordById.load(id))

builder.prismaObjectField(Profile, 'emails', (t) =>
  t.field({
    type: [EmailRecord],
    extensions: { items: 2 satisfies Items },
    scope: 'contacts:read',
    description: 'The email addresses, oldest first.',
    resolve: ({ id }, _, { loaders }) => loaders.emailsOfProfile.load(id),
  }),
)
