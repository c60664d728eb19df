import { Account } from '../account/account.graphql.ts'
import type { Profile as ProfileRow } from '../db/generated/prisma/client.ts'
import { invalidField } from '../errors.ts'
import { builder } from '../graphql/builder.ts'
import { existing } from '../graphql/existing.ts'
import { defineMutation } from '../graphql/mutation.ts'
import { Node, registerNode } from '../graphql/node.ts'
import { definePayload } from '../graphql/payload.ts'
import type { Items } from '../graphql/price.ts'
import type { JsonObject } from '../graphql/scalars.ts'
import { syncProfile } from './profile.service.ts'

/** Columns are bigint, since some channels count past 2^31; what is stored is never past 2^53. */
const toSafeInt = (count: bigint | null) => (count === null ? null : Number(count))

export const Profile = builder.prismaObject('Profile', {
  scope: 'inherited',
  description: 'What a platform shows of an account: identity, contact, audience.',
  interfaces: [Node],
  fields: (t) => ({
    platform: t.exposeString('platform', { description: 'The platform, in upper case: `YOUTUBE`.' }),
    platformAccountId: t.exposeString('platformAccountId', { description: "The platform's own id of the account." }),
    username: t.exposeString('username', { nullable: true, description: 'The user name on the platform.' }),
    url: t.exposeString('url', { nullable: true, description: 'Where the profile is on the platform.' }),
    gender: t.exposeString('gender', { nullable: true, description: "The owner's gender, in upper case: `FEMALE`." }),
    fullName: t.exposeString('fullName', { nullable: true, description: "The owner's full name." }),
    firstName: t.exposeString('firstName', { nullable: true, description: "The owner's first name." }),
    lastName: t.exposeString('lastName', { nullable: true, description: "The owner's last name." }),
    nickName: t.exposeString('nickName', { nullable: true, description: "The owner's nickname." }),
    displayName: t.exposeString('displayName', { nullable: true, description: 'The name shown on the platform.' }),
    description: t.exposeString('description', { nullable: true, description: 'What the owner says of the profile.' }),
    profilePictureUrl: t.exposeString('profilePictureUrl', { nullable: true, description: 'Where the picture is.' }),
    dateOfBirth: t.expose('dateOfBirth', {
      type: 'Date',
      nullable: true,
      scope: 'contacts:read',
      description: "The owner's date of birth.",
    }),
    category: t.exposeString('category', { nullable: true, description: 'The category or niche.' }),
    websiteUrl: t.exposeString('websiteUrl', { nullable: true, description: "The owner's own website." }),
    country: t.exposeString('country', { nullable: true, description: 'The country code: `DE`.' }),
    phoneNumbers: t.field({
      type: ['JSONObject'],
      scope: 'contacts:read',
      description: 'The phone numbers, as the platform gives them.',
      resolve: ({ phoneNumbers }) => phoneNumbers as JsonObject[],
    }),
    addresses: t.field({
      type: ['JSONObject'],
      scope: 'contacts:read',
      description: 'The postal addresses, as the platform gives them.',
      resolve: ({ addresses }) => addresses as JsonObject[],
    }),
    followersCount: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'How many follow the profile.',
      resolve: ({ followersCount }) => toSafeInt(followersCount),
    }),
    followingCount: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'How many the profile follows.',
      resolve: ({ followingCount }) => toSafeInt(followingCount),
    }),
    subscribersCount: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'How many have subscribed.',
      resolve: ({ subscribersCount }) => toSafeInt(subscribersCount),
    }),
    contentsCount: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'How many items were posted.',
      resolve: ({ contentsCount }) => toSafeInt(contentsCount),
    }),
    watchTimeInHours: t.exposeFloat('watchTimeInHours', {
      nullable: true,
      description: 'How long the content has been watched in all, in hours.',
    }),
    joinedAt: t.expose('joinedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the profile was made on the platform.',
    }),
    verified: t.exposeBoolean('verified', {
      nullable: true,
      description: 'Whether the platform has verified the profile.',
    }),
    accountId: t.exposeID('accountId', { description: 'The id of the account whose profile this is.' }),
    account: t.field({
      type: Account,
      scope: 'users:read',
      description: 'The account whose profile this is.',
      resolve: async ({ accountId }, _, { loaders }) => existing(await loaders.accountById.load(accountId)),
    }),
  }),
})

registerNode('Profile', 'profiles:read', (id, { loaders }) => loaders.profileById.load(id))

builder.prismaObjectField(Account, 'profile', (t) =>
  t.field({
    type: Profile,
    nullable: true,
    scope: 'profiles:read',
    description: "The account's profile; null while none is known.",
    resolve: ({ id }, _, { loaders }) => loaders.profileOfAccount.load(id),
  }),
)

const maxAccountIds = 500

builder.queryField('profiles', (t) =>
  t.field({
    type: [Profile],
    extensions: { items: { asManyAs: 'accountIds' } satisfies Items },
    scope: 'profiles:read',
    description: `The profiles of up to ${maxAccountIds} accounts, in the order asked, each once. Unknown ids are left out.`,
    args: { accountIds: t.arg.idList({ required: true, description: 'The ids of the accounts.' }) },
    resolve: async (_, { accountIds }, { loaders }) => {
      if (accountIds.length > maxAccountIds) {
        throw invalidField('accountIds', 'OUT_OF_RANGE', `must have at most ${maxAccountIds} entries`)
      }
      const found = await Promise.all([...new Set(accountIds)].map((id) => loaders.profileOfAccount.load(id)))
      return found.filter((profile) => profile !== null)
    },
  }),
)

const EmailInput = builder.inputType('EmailInput', {
  description: 'One email address of a profile.',
  fields: (t) => ({
    value: t.string({ required: true, description: 'The email address: 1–320 characters.' }),
    type: t.string({ description: 'The kind of address: `personal` or `work`, say.' }),
    isVerified: t.boolean({ description: 'Whether the address is verified; false when absent.' }),
    isPrimary: t.boolean({ description: 'Whether it is the primary address; false when absent.' }),
  }),
})

const SyncProfileInput = builder.inputType('SyncProfileInput', {
  description: "An account's profile. A field that is absent is kept, null clears it, a list replaces the list.",
  fields: (t) => ({
    accountId: t.id({ required: true, description: 'The id of the account.' }),
    username: t.string({ description: 'The user name on the platform.' }),
    url: t.string({ description: 'Where the profile is on the platform: an absolute http(s) URL.' }),
    gender: t.string({ description: "The owner's gender, in upper case: `FEMALE`." }),
    fullName: t.string({ description: "The owner's full name." }),
    firstName: t.string({ description: "The owner's first name." }),
    lastName: t.string({ description: "The owner's last name." }),
    nickName: t.string({ description: "The owner's nickname." }),
    displayName: t.string({ description: 'The name shown on the platform.' }),
    description: t.string({ description: 'What the owner says of the profile: up to 10,000 characters.' }),
    profilePictureUrl: t.string({ description: 'Where the picture is: an absolute http(s) URL.' }),
    dateOfBirth: t.field({ type: 'Date', description: "The owner's date of birth." }),
    category: t.string({ description: 'The category or niche.' }),
    websiteUrl: t.string({ description: "The owner's own website: an absolute http(s) URL." }),
    country: t.string({ description: 'The country code: `DE`.' }),
    emails: t.field({ type: [EmailInput], description: 'The email addresses: up to 100.' }),
    phoneNumbers: t.field({ type: ['JSONObject'], description: 'The phone numbers: up to 100, each at most 16 KiB.' }),
    addresses: t.field({ type: ['JSONObject'], description: 'The postal addresses: up to 100, each at most 16 KiB.' }),
    followersCount: t.field({ type: 'SafeInt', description: 'How many follow the profile.' }),
    followingCount: t.field({ type: 'SafeInt', description: 'How many the profile follows.' }),
    subscribersCount: t.field({ type: 'SafeInt', description: 'How many have subscribed.' }),
    contentsCount: t.field({ type: 'SafeInt', description: 'How many items were posted.' }),
    watchTimeInHours: t.float({ description: 'How long the content has been watched in all, in hours.' }),
    joinedAt: t.field({ type: 'DateTime', description: 'When the profile was made on the platform.' }),
    verified: t.boolean({ description: 'Whether the platform has verified the profile.' }),
  }),
})

const SyncProfilePayload = definePayload<ProfileRow>(
  'SyncProfilePayload',
  'profile',
  Profile,
  'The profile as it is now.',
  'profiles:read',
)

defineMutation('syncProfile', {
  payload: SyncProfilePayload,
  scope: 'users:write',
  description: 'Makes or changes the profile of an account, with its emails: all of it, or nothing.',
  input: SyncProfileInput,
  inputDescription: 'The profile.',
  work: syncProfile,
})
