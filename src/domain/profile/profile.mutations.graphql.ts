import { builder } from '../../engine/graphql/schema/builder.ts'
import { defineBulkMutation } from '../../engine/graphql/schema/bulk-mutation.ts'
import { defineMutation } from '../../engine/graphql/schema/mutation.ts'
import { Profile } from './profile.graphql.ts'
import { syncProfile, syncProfiles } from './profile.service.ts'

const EmailInput = builder.inputType('EmailInput', {
  description: 'An email address of a profile.',
  fields: (t) => ({
    value: t.string({ required: true, description: 'The email address: 1–320 characters.' }),
    type: t.string({ description: 'The kind of address, such as `personal` or `work`: up to 64 characters.' }),
    isVerified: t.boolean({ description: 'Whether the address is verified. False by default.' }),
    isPrimary: t.boolean({ description: 'Whether it is the primary address. False by default.' }),
  }),
})

const syncProfileMutation = defineMutation('syncProfile', {
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

defineBulkMutation('syncProfiles', syncProfileMutation, {
  description: 'Creates or changes the profiles of accounts and their emails.',
  inputsDescription: 'The profiles',
  run: syncProfiles,
})
