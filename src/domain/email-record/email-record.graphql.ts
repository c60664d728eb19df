import { builder } from '../../engine/graphql/schema/builder.ts'
import { defineNestedList } from '../../engine/graphql/schema/nested-list.ts'
import { Node, registerNode } from '../../engine/graphql/schema/node.ts'
import { referencedRowOf } from '../../engine/graphql/schema/rows.ts'
import { Profile } from '../profile/profile.graphql.ts'
import { profileById } from '../profile/profile.ts'
import { emailRecordById, emailRecordIds, emailsOfProfile } from './email-record.ts'

const EmailRecord = builder.prismaObject('EmailRecord', {
  scope: 'inherited',
  description: 'An email address of a profile.',
  interfaces: [Node],
  fields: (t) => ({
    value: t.exposeString('value', { description: 'The email address.' }),
    type: t.exposeString('type', { nullable: true, description: 'The kind of address, such as `personal` or `work`.' }),
    isVerified: t.exposeBoolean('isVerified', { description: 'Whether the address is verified.' }),
    isPrimary: t.exposeBoolean('isPrimary', { description: 'Whether it is the primary address.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The creation time.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
    profileId: t.exposeID('profileId', { description: 'The id of the profile that the address belongs to.' }),
    profile: t.field({
      type: Profile,
      scope: 'profiles:read',
      description: 'The profile that the address belongs to.',
      ...referencedRowOf(profileById, 'profileId'),
    }),
  }),
})

registerNode('EmailRecord', emailRecordIds, 'contacts:read', emailRecordById)

defineNestedList(Profile, 'emails', {
  type: EmailRecord,
  relation: emailsOfProfile,
  from: 'id',
  plural: 'addresses',
  scope: 'contacts:read',
  isWithheld: true,
  description: 'The email addresses',
  length: 2,
})
