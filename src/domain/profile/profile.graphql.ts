import type { JsonObject } from '@fusion-gateway/pothos-trees'
import {
  equalTo,
  expectedUpdatedAt,
  ifUnchanged,
  listArgs,
  listQuery,
  oneOf,
  plannedLoaders,
  requireShortList,
  withText,
} from '@fusion-gateway/pothos-trees'
import { asParent, maxPageSize } from '@fusion-gateway/prisma-trees'
import { Account, AccountFilter } from '../account/account.graphql.ts'
import { builder } from '../builder.ts'
import { defineLive } from '../event/live.graphql.ts'
import { Node, registerNode } from '../node.graphql.ts'
import { emailRecordById, emailRecordIds } from './email-record.ts'
import { syncProfile, syncProfiles } from './profile.service.ts'
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
      isMasked: true,
      description: 'The phone numbers in the format of the platform.',
      resolve: ({ phoneNumbers }) => phoneNumbers as JsonObject[],
    }),
    addresses: t.field({
      type: ['JSONObject'],
      scope: 'contacts:read',
      isMasked: true,
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
      isUnlogged: true,
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
    account: t.relation('account', { scope: 'users:read', description: 'The account.' }),
  }),
})

registerNode('Profile', profileIds, 'profiles:read', profileById)

// The event of its deletion names the account.
builder.queryField('profile', (t) =>
  t.prismaField({
    type: Profile,
    nullable: true,
    scope: 'profiles:read',
    description: 'Returns the profile with this id, or null if your tenant has none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the profile.' }) },
    root: { model: 'Profile' },
    resolve: (query, _root, { id }, { db }) => db.profile.findFirst({ ...query, where: { id } }),
  }),
)

defineLive('profile', {
  type: Profile,
  scope: 'profiles:read',
  relation: profileById,
  follows: 'the profile and its account',
  // It is deleted with its account.
  isAlsoNamedByOthers: true,
})

builder.prismaObjectField(Account, 'profile', (t) =>
  t.relation('profile', {
    nullable: true,
    scope: 'profiles:read',
    description: "The account's profile, or null if it was never synchronized.",
  }),
)

builder.queryField('profiles', (t) =>
  t.field({
    type: [Profile],
    cost: { length: { asArgument: 'accountIds' } },
    scope: 'profiles:read',
    description: `Returns the profiles of up to ${maxPageSize} accounts, in the order of the ids. Each profile is returned once, and unknown ids are ignored.`,
    args: { accountIds: t.arg.idList({ required: true, description: 'The ids of the accounts.' }) },
    root: { model: 'Profile', ids: 'accountIds' },
    async resolve(_, { accountIds }, context, info) {
      requireShortList(accountIds, 'accountIds')
      const loaders = plannedLoaders(context, info)
      const rows = await loaders.loadAll(profileOfAccount, [...new Set(accountIds)])
      return rows.filter((profile) => profile !== null).map(asParent<'Profile'>)
    },
  }),
)

export const ProfileFilter = builder.filter('Profile', {
  plural: 'profiles',
  fields: (t) => ({
    ids: t.idList({ description: 'The profile has one of these ids.', where: oneOf('id') }),
    platform: t.string({ description: 'The platform in upper case.', isScan: true, where: equalTo('platform') }),
    platforms: t.stringList({ description: 'One of these platforms.', isScan: true, where: oneOf('platform') }),
    country: t.string({ description: 'The country code.', isScan: true, where: equalTo('country') }),
    countries: t.stringList({ description: 'One of these country codes.', isScan: true, where: oneOf('country') }),
    category: t.string({ description: 'The category or niche.', isScan: true, where: equalTo('category') }),
    categories: t.stringList({ description: 'One of these categories.', isScan: true, where: oneOf('category') }),
    search: t.string({
      description: 'A part of the user name, the full name or the display name. Case is ignored.',
      isScan: true,
      where: (text) => withText(text, 'username', 'fullName', 'displayName'),
    }),
    verified: t.boolean({
      description: 'Whether the platform has verified the profile.',
      isScan: true,
      where: equalTo('verified'),
    }),
    followersMin: t.count({
      description: 'At least this number of followers.',
      isScan: true,
      where: (gte) => ({ followersCount: { gte } }),
    }),
    followersMax: t.count({
      description: 'At most this number of followers.',
      isScan: true,
      where: (lte) => ({ followersCount: { lte } }),
    }),
    updatedAfter: t.time({ description: 'Changed after this time.', where: (gt) => ({ updatedAt: { gt } }) }),
    ...t.logic(),
    ...t.nulls([
      'username',
      'url',
      'gender',
      'fullName',
      'firstName',
      'lastName',
      'nickName',
      'displayName',
      'description',
      'profilePictureUrl',
      'websiteUrl',
      'verified',
    ]),
    ...t.nulls(['dateOfBirth'], { scope: 'contacts:read' }),
    ...t.nulls(['category', 'country', 'followersCount', 'followingCount', 'subscribersCount', 'contentsCount']),
    ...t.nulls(['watchTimeInHours', 'joinedAt']),
    account: t.relation(AccountFilter, {
      description: 'The account of the profile.',
      scope: 'users:read',
      where: (account) => ({ account }),
    }),
  }),
})

builder.filterField(AccountFilter, 'hasProfile', (t) =>
  t.exists({
    description: 'Whether the account has a profile.',
    scope: 'profiles:read',
    where: (hasProfile) => ({ profile: hasProfile ? { isNot: null } : null }),
  }),
)
builder.filterField(AccountFilter, 'profile', (t) =>
  t.relation(ProfileFilter, {
    description: 'The profile of the account. An account without a profile is not selected.',
    scope: 'profiles:read',
    where: (profile) => ({ profile }),
  }),
)

const ProfileOrder = builder.order('Profile', {
  plural: 'profiles',
  fields: {
    FOLLOWERS_COUNT: {
      description: 'The number of followers. Profiles without a number come last.',
      orderBy: (sort) => ({ followersCount: { sort, nulls: 'last' } }),
    },
    UPDATED_AT: { description: 'The time of the last change.', orderBy: (sort) => ({ updatedAt: sort }) },
  },
  byDefault: { field: 'FOLLOWERS_COUNT', direction: 'DESC', description: 'Most followers first' },
})

const profiles = builder.list(Profile, { plural: 'profiles', filter: ProfileFilter, order: ProfileOrder })

builder.queryField('searchProfiles', (t) =>
  t.list(profiles, { scope: 'profiles:read', description: "Lists your tenant's profiles." }),
)

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
    profile: t.relation('profile', {
      scope: 'profiles:read',
      description: 'The profile that the address belongs to.',
    }),
  }),
})

registerNode('EmailRecord', emailRecordIds, 'contacts:read', emailRecordById)

// Its events name the profile.
builder.queryField('emailRecord', (t) =>
  t.prismaField({
    type: EmailRecord,
    nullable: true,
    scope: 'contacts:read',
    description: 'Returns the email address of a profile with this id, or null if your tenant has none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the email address of a profile.' }) },
    root: { model: 'EmailRecord' },
    resolve: (query, _root, { id }, { db }) => db.emailRecord.findFirst({ ...query, where: { id } }),
  }),
)

builder.prismaObjectField(Profile, 'emails', (t) =>
  t.relation('emails', {
    scope: 'contacts:read',
    isMasked: true,
    description: 'The email addresses, oldest first.',
    args: listArgs(t, { plural: 'addresses' }),
    query: listQuery({}),
    cost: { length: 2 },
  }),
)

const EmailInput = builder.inputType('EmailInput', {
  description: 'An email address of a profile.',
  fields: (t) => ({
    value: t.string({ required: true, description: 'The email address: 1–320 characters.' }),
    type: t.string({ description: 'The kind of address, such as `personal` or `work`: up to 64 characters.' }),
    isVerified: t.boolean({ description: 'Whether the address is verified. False by default.' }),
    isPrimary: t.boolean({ description: 'Whether it is the primary address. False by default.' }),
  }),
})

const syncProfileField = builder.writeField(
  'syncProfile',
  {
    description: 'The profile.',
    rules: 'Absent fields keep their value, null clears it, and a list replaces the list.',
    inputFields: (t) => ({
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
      phoneNumbers: t.field({
        type: ['JSONObject'],
        description: 'The phone numbers: up to 100, each at most 16 KiB.',
      }),
      addresses: t.field({
        type: ['JSONObject'],
        description: 'The postal addresses: up to 100, each at most 16 KiB.',
      }),
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
      ...expectedUpdatedAt('profile')(t),
    }),
  },
  {
    scope: 'users:write',
    description: 'Creates or changes the profile of an account and its emails, in one transaction.',
    restrictions: ifUnchanged,
    resolve: (_root, { input }, context) => syncProfile(context, input),
  },
  {
    outputFields: (t) => ({
      profile: t.field({
        type: Profile,
        description: 'The profile.',
        scope: 'profiles:read',
        current: 'instead',
        resolve: (profile) => profile,
      }),
    }),
  },
)

builder.bulkWriteField('syncProfiles', syncProfileField, {
  description: 'Creates or changes the profiles of accounts and their emails.',
  inputsDescription: 'The profiles',
  resolve: (_root, { inputs }, context) => syncProfiles(context, inputs),
})
