import { after, atLeast, atMost, containing, equal, equalLongText } from '../../engine/db/read/list.ts'
import { byCount, byTime } from '../../engine/db/read/order.ts'
import { invalidField } from '../../engine/errors.ts'
import { builder } from '../../engine/graphql/schema/builder.ts'
import { defineFilter } from '../../engine/graphql/schema/filter.ts'
import { defineList } from '../../engine/graphql/schema/list.ts'
import { defineMutation } from '../../engine/graphql/schema/mutation.ts'
import { Node, registerNode } from '../../engine/graphql/schema/node.ts'
import { defineOrder } from '../../engine/graphql/schema/order.ts'
import { loadRow, referencedRowOf, rowOf } from '../../engine/graphql/schema/rows.ts'
import type { JsonObject } from '../../engine/graphql/schema/scalars.ts'
import { Account } from '../account/account.graphql.ts'
import { accountById } from '../account/account.ts'
import { syncProfile } from './profile.service.ts'
import { profileById, profileIds, profileOfAccount } from './profile.ts'

/** Counts are bigint, because some channels exceed 2^31. Stored counts never exceed 2^53. */
const countOf = <Name extends string>(name: Name, description: string) => ({
  type: 'SafeInt' as const,
  nullable: true as const,
  description,
  resolve: (profile: Readonly<Record<Name, bigint | null>>) => (profile[name] === null ? null : Number(profile[name])),
})

export const Profile = builder.prismaObject('Profile', {
  scope: 'inherited',
  description: 'The profile of an account on its platform: identity, contact and audience.',
  interfaces: [Node],
  fields: (t) => ({
    platform: t.exposeString('platform', { description: 'The platform in upper case, such as `YOUTUBE`.' }),
    platformAccountId: t.exposeString('platformAccountId', { description: 'The id of the account on the platform.' }),
    username: t.exposeString('username', { nullable: true, description: 'The user name on the platform.' }),
    url: t.exposeString('url', { nullable: true, description: 'The URL of the profile on the platform.' }),
    gender: t.exposeString('gender', {
      nullable: true,
      description: "The owner's gender in upper case, such as `FEMALE`.",
    }),
    fullName: t.exposeString('fullName', { nullable: true, description: "The owner's full name." }),
    firstName: t.exposeString('firstName', { nullable: true, description: "The owner's first name." }),
    lastName: t.exposeString('lastName', { nullable: true, description: "The owner's last name." }),
    nickName: t.exposeString('nickName', { nullable: true, description: "The owner's nickname." }),
    displayName: t.exposeString('displayName', { nullable: true, description: 'The name that the platform shows.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'The description that the owner wrote.',
    }),
    profilePictureUrl: t.exposeString('profilePictureUrl', { nullable: true, description: 'The URL of the picture.' }),
    dateOfBirth: t.expose('dateOfBirth', {
      type: 'Date',
      nullable: true,
      scope: 'contacts:read',
      description: "The owner's date of birth.",
    }),
    category: t.exposeString('category', { nullable: true, description: 'The category or niche.' }),
    websiteUrl: t.exposeString('websiteUrl', { nullable: true, description: "The URL of the owner's website." }),
    country: t.exposeString('country', { nullable: true, description: 'The country code, such as `DE`.' }),
    phoneNumbers: t.field({
      type: ['JSONObject'],
      scope: 'contacts:read',
      isWithheld: true,
      description: 'The phone numbers in the format of the platform.',
      resolve: ({ phoneNumbers }) => phoneNumbers as JsonObject[],
    }),
    addresses: t.field({
      type: ['JSONObject'],
      scope: 'contacts:read',
      isWithheld: true,
      description: 'The postal addresses in the format of the platform.',
      resolve: ({ addresses }) => addresses as JsonObject[],
    }),
    followersCount: t.field(countOf('followersCount', 'The number of followers.')),
    followingCount: t.field(countOf('followingCount', 'The number of accounts that the profile follows.')),
    subscribersCount: t.field(countOf('subscribersCount', 'The number of subscribers.')),
    contentsCount: t.field(countOf('contentsCount', 'The number of posted items.')),
    watchTimeInHours: t.exposeFloat('watchTimeInHours', {
      nullable: true,
      description: 'The total watch time of the content, in hours.',
    }),
    joinedAt: t.expose('joinedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time when the profile was created on the platform.',
    }),
    verified: t.exposeBoolean('verified', {
      nullable: true,
      description: 'Whether the platform has verified the profile.',
    }),
    syncedAt: t.field({
      type: 'DateTime',
      description: 'The time of the last synchronization.',
      columns: ['syncedAt', 'updatedAt'],
      // Rows that were written before this column existed were synchronized when they last changed.
      resolve: ({ syncedAt, updatedAt }) => syncedAt ?? updatedAt,
    }),
    unsupportedFields: t.exposeStringList('unsupportedFields', {
      description:
        'The fields that the platform does not provide. Other fields that are null are unknown, or withheld.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The creation time.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
    accountId: t.exposeID('accountId', { description: 'The id of the account.' }),
    account: t.field({
      type: Account,
      scope: 'users:read',
      description: 'The account.',
      ...referencedRowOf(accountById, 'accountId'),
    }),
  }),
})

registerNode('Profile', profileIds, 'profiles:read', profileById)

builder.prismaObjectField(Account, 'profile', (t) =>
  t.field({
    type: Profile,
    nullable: true,
    scope: 'profiles:read',
    description: "The account's profile, or null if it was never synchronized.",
    ...rowOf(profileOfAccount, 'id'),
  }),
)

const maxAccountIds = 500

builder.queryField('profiles', (t) =>
  t.field({
    type: [Profile],
    cost: { length: { asArgument: 'accountIds' } },
    scope: 'profiles:read',
    description: `Returns the profiles of up to ${maxAccountIds} accounts, in the order of the ids. Each profile is returned once, and unknown ids are ignored.`,
    args: { accountIds: t.arg.idList({ required: true, description: 'The ids of the accounts.' }) },
    resolve: async (_, { accountIds }, { loaders }) => {
      if (accountIds.length > maxAccountIds) {
        throw invalidField('accountIds', 'OUT_OF_RANGE', `must have at most ${maxAccountIds} entries`)
      }
      const found = await Promise.all([...new Set(accountIds)].map((id) => loadRow(loaders, profileOfAccount, id)))
      return found.filter((profile) => profile !== null)
    },
  }),
)

defineList('searchProfiles', {
  model: 'Profile',
  type: Profile,
  plural: 'profiles',
  scope: 'profiles:read',
  description: "Lists your tenant's profiles.",
  selection: {
    filter: defineFilter('Profile', 'profiles', (f) => ({
      platform: f.text({ description: 'The platform in upper case.', isScan: true, where: equal('platform') }),
      country: f.text({ description: 'The country code.', isScan: true, where: equalLongText('country') }),
      category: f.text({ description: 'The category or niche.', isScan: true, where: equalLongText('category') }),
      search: f.text({
        description: 'A part of the user name, the full name or the display name. Case is ignored.',
        isScan: true,
        where: containing('username', 'fullName', 'displayName'),
      }),
      verified: f.boolean({
        description: 'Whether the platform has verified the profile.',
        isScan: true,
        where: equal('verified'),
      }),
      followersMin: f.count({
        description: 'At least this number of followers.',
        isScan: true,
        where: atLeast('followersCount'),
      }),
      followersMax: f.count({
        description: 'At most this number of followers.',
        isScan: true,
        where: atMost('followersCount'),
      }),
      updatedAfter: f.time({ description: 'Changed after this time.', where: after('updatedAt') }),
    })),
    order: defineOrder(
      'Profile',
      'profiles',
      {
        FOLLOWERS_COUNT: {
          description: 'The number of followers. Profiles without a number come last.',
          by: (direction) => byCount('followersCount', direction),
        },
        UPDATED_AT: { description: 'The time of the last change.', by: (direction) => byTime('updatedAt', direction) },
      },
      { field: 'FOLLOWERS_COUNT', direction: 'DESC' },
    ),
    defaultOrder: 'Most followers first',
  },
})

const EmailInput = builder.inputType('EmailInput', {
  description: 'An email address of a profile.',
  fields: (t) => ({
    value: t.string({ required: true, description: 'The email address: 1–320 characters.' }),
    type: t.string({ description: 'The kind of address, such as `personal` or `work`: up to 64 characters.' }),
    isVerified: t.boolean({ description: 'Whether the address is verified. False by default.' }),
    isPrimary: t.boolean({ description: 'Whether it is the primary address. False by default.' }),
  }),
})

defineMutation('syncProfile', {
  scope: 'users:write',
  description: 'Creates or changes the profile of an account and its emails, in one transaction.',
  inputDescription: 'The profile.',
  inputRules: 'Absent fields keep their value, null clears it, and a list replaces the list.',
  input: (t) => ({
    accountId: t.id({ required: true, description: 'The id of the account.' }),
    username: t.string({ description: 'The user name on the platform: up to 500 characters.' }),
    url: t.string({ description: 'The URL of the profile on the platform: absolute, http or https.' }),
    gender: t.string({ description: "The owner's gender in upper case, such as `FEMALE`: up to 64 characters." }),
    fullName: t.string({ description: "The owner's full name: up to 500 characters." }),
    firstName: t.string({ description: "The owner's first name: up to 500 characters." }),
    lastName: t.string({ description: "The owner's last name: up to 500 characters." }),
    nickName: t.string({ description: "The owner's nickname: up to 500 characters." }),
    displayName: t.string({ description: 'The name that the platform shows: up to 500 characters.' }),
    description: t.string({ description: 'The description that the owner wrote: up to 10,000 characters.' }),
    profilePictureUrl: t.string({ description: 'The URL of the picture: absolute, http or https.' }),
    dateOfBirth: t.field({ type: 'Date', description: "The owner's date of birth." }),
    category: t.string({ description: 'The category or niche: up to 500 characters.' }),
    websiteUrl: t.string({ description: "The URL of the owner's website: absolute, http or https." }),
    country: t.string({ description: 'The country code, such as `DE`: up to 64 characters.' }),
    emails: t.field({ type: [EmailInput], description: 'The email addresses: up to 100.' }),
    phoneNumbers: t.field({ type: ['JSONObject'], description: 'The phone numbers: up to 100, each at most 16 KiB.' }),
    addresses: t.field({ type: ['JSONObject'], description: 'The postal addresses: up to 100, each at most 16 KiB.' }),
    followersCount: t.field({ type: 'SafeInt', description: 'The number of followers.' }),
    followingCount: t.field({ type: 'SafeInt', description: 'The number of accounts that the profile follows.' }),
    subscribersCount: t.field({ type: 'SafeInt', description: 'The number of subscribers.' }),
    contentsCount: t.field({ type: 'SafeInt', description: 'The number of posted items.' }),
    watchTimeInHours: t.float({ description: 'The total watch time of the content, in hours.' }),
    joinedAt: t.field({ type: 'DateTime', description: 'The time when the profile was created on the platform.' }),
    verified: t.boolean({ description: 'Whether the platform has verified the profile.' }),
    unsupportedFields: t.stringList({
      description: 'The names of the fields above that the platform does not provide, such as `watchTimeInHours`.',
    }),
  }),
  results: [{ field: 'profile', type: Profile, description: 'The profile.', scope: 'profiles:read' }],
  run: syncProfile,
})
