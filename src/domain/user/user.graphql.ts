import {
  type EntityKey,
  equalTo,
  expectedUpdatedAt,
  type InputFields,
  ifUnchanged,
  inputWithId,
  type JsonObject,
  oneOf,
  withText,
} from '@fusion-gateway/pothos-trees'
import { builder } from '../builder.ts'
import { Event } from '../event/event.graphql.ts'
import { defineLive } from '../event/live.graphql.ts'
import { Node, registerNode } from '../node.graphql.ts'
import { TenantApp } from '../tenant/tenant.graphql.ts'
import { upsertUser, upsertUsers } from './upsert-users.ts'
import { metadataCondition, userFields } from './user.input.ts'
import { createUser, createUsers, deleteUser, deleteUsers, holdersOf, updateUser, updateUsers } from './user.service.ts'
import { userById, userIds } from './user.ts'

export const User = builder.prismaObject('User', {
  scope: 'inherited',
  description: 'A user of the tenant app.',
  interfaces: [Node],
  fields: (t) => ({
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The creation time.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
    name: t.exposeString('name', { description: 'The full name.' }),
    email: t.exposeString('email', { scope: 'contacts:read', isMasked: true, description: 'The email address.' }),
    phone: t.exposeString('phone', { nullable: true, scope: 'contacts:read', description: 'The phone number.' }),
    externalId: t.exposeString('externalId', {
      nullable: true,
      description: "The id of the user in the tenant's own system. It is unique in the tenant.",
    }),
    metadata: t.field({
      type: 'JSONObject',
      nullable: true,
      description: "What the tenant's own system keeps about the user.",
      resolve: ({ metadata }) => metadata as JsonObject | null,
    }),
    tenantAppId: t.exposeID('tenantAppId', { description: 'The id of the tenant app that the user belongs to.' }),
    tenantApp: t.field({
      type: TenantApp,
      isUnlogged: true,
      description: 'The tenant app that the user belongs to.',
      resolve: (_user, _args, { viewer: { tenantAppId, tenantName } }) => ({ id: tenantAppId, name: tenantName }),
    }),
  }),
})

registerNode('User', userIds, 'users:read', userById)

builder.queryField('user', (t) =>
  t.prismaField({
    type: User,
    nullable: true,
    scope: 'users:read',
    description: 'Returns the user with this id, or null if your tenant has none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the user.' }) },
    root: { model: 'User', ids: 'id' },
    resolve: (query, _root, { id }, { db }) => db.user.findFirst({ ...query, where: { id } }),
  }),
)

/** Whether a user can have this external id. No statement is sent for others. */
const isPossibleExternalId = (text: string) => userFields.externalId.safeParse(text).success

/** The key of a user for subgraphs that know only the tenant's own id. */
export const byExternalId: EntityKey<'externalId'> = {
  fields: ['externalId'],
  async findIds(keys, context) {
    const holderOf = await holdersOf(context, keys.map(({ externalId }) => externalId).filter(isPossibleExternalId))
    return keys.map(({ externalId }) => holderOf.get(externalId))
  },
}

builder.queryField('userByExternalId', (t) =>
  t.prismaField({
    type: User,
    nullable: true,
    scope: 'users:read',
    description: 'Returns the user with this `externalId`, or null if your tenant has none.',
    args: {
      externalId: t.arg.string({ required: true, description: "The id of the user in the tenant's own system." }),
    },
    root: { model: 'User' },
    resolve: (query, _root, { externalId }, { db }) =>
      isPossibleExternalId(externalId) ? db.user.findFirst({ ...query, where: { externalId } }) : null,
  }),
)

defineLive('user', {
  type: User,
  scope: 'users:read',
  relation: userById,
  follows: 'the user, and of the accounts and profiles of the user',
})

builder.objectField(Event, 'user', (t) =>
  t.prismaField({
    type: User,
    nullable: true,
    scope: 'users:read',
    description: 'The user with `userId` as it is now. Null once the user is deleted.',
    resolve: (query, { userId }, _args, { db }) =>
      userId === null ? null : db.user.findFirst({ ...query, where: { id: userId } }),
  }),
)

const MetadataCondition = builder.inputType('MetadataCondition', {
  description: 'A condition on `metadata` of a user.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'The key of `metadata`: 1–200 characters.' }),
    value: t.field({
      type: 'JSONScalar',
      required: true,
      description: 'The value that the key has: a text of up to 500 characters, a number, true or false.',
    }),
  }),
})

export const UserFilter = builder.filter('User', {
  plural: 'users',
  fields: (t) => ({
    ids: t.idList({ description: 'The user has one of these ids.', where: oneOf('id') }),
    externalIds: t.stringList({
      description: 'The user has one of these external ids.',
      where: oneOf('externalId'),
    }),
    metadata: t.conditions(MetadataCondition, metadataCondition, {
      description: '`metadata` of the user has these values.',
      where: ({ key, value }) => ({ metadata: { path: [key], equals: value } }),
    }),
    email: t.string({
      description: 'The exact email address. Needs the scope `contacts:read`.',
      scope: 'contacts:read',
      where: equalTo('email'),
    }),
    search: t.string({
      description: 'A part of the name, or of the email address with the scope `contacts:read`. Case is ignored.',
      isScan: true,
      where: (text, { viewer }) =>
        viewer.scopes.includes('contacts:read') ? withText(text, 'name', 'email') : withText(text, 'name'),
    }),
    nameContains: t.string({
      description: 'A part of the name. Case is ignored.',
      isScan: true,
      where: (text) => withText(text, 'name'),
    }),
    platform: t.string({
      description: 'Users with an account on this platform, such as `YOUTUBE`.',
      isScan: true,
      where: (platform) => ({ accounts: { some: { platform } } }),
    }),
    platforms: t.stringList({
      description: 'Users with an account on one of these platforms.',
      isScan: true,
      where: (values) => ({ accounts: { some: { platform: { in: values } } } }),
    }),
    createdAfter: t.time({ description: 'Created after this time.', where: (gt) => ({ createdAt: { gt } }) }),
    createdBefore: t.time({ description: 'Created before this time.', where: (lt) => ({ createdAt: { lt } }) }),
    updatedAfter: t.time({ description: 'Changed after this time.', where: (gt) => ({ updatedAt: { gt } }) }),
    updatedBefore: t.time({ description: 'Changed before this time.', where: (lt) => ({ updatedAt: { lt } }) }),
    ...t.logic(),
    ...t.nulls(['phone'], { scope: 'contacts:read' }),
    ...t.nulls(['externalId', 'metadata']),
    hasAccounts: t.exists({
      description: 'Whether the user has accounts.',
      scope: 'users:read',
      where: (hasSome) => ({ accounts: hasSome ? { some: {} } : { none: {} } }),
    }),
  }),
})

const UserOrder = builder.order('User', {
  plural: 'users',
  fields: {
    CREATED_AT: { description: 'The creation time.', orderBy: (sort) => ({ createdAt: sort }) },
    UPDATED_AT: { description: 'The time of the last change.', orderBy: (sort) => ({ updatedAt: sort }) },
    NAME: { description: 'The first 200 characters of the name.', orderBy: (sort) => ({ name: sort }) },
  },
  byDefault: { field: 'CREATED_AT', direction: 'ASC', description: 'Oldest first' },
})

const users = builder.list(User, { plural: 'users', filter: UserFilter, order: UserOrder })

builder.queryField('users', (t) => t.list(users, { scope: 'users:read', description: "Lists your tenant's users." }))

const externalId = (t: InputFields, rules = '') =>
  t.string({ description: `The id of the user in your own system: 1–200 characters, unique in your tenant.${rules}` })

const metadata = (t: InputFields, rules = '') =>
  t.field({ type: 'JSONObject', description: `What your own system keeps about the user: at most 16 KiB.${rules}` })

const createUserField = builder.writeField(
  'createUser',
  {
    description: 'The user to create.',
    inputFields: (t) => ({
      name: t.string({ required: true, description: 'The full name: 1–200 characters, trimmed.' }),
      email: t.string({ required: true, description: 'The email address: up to 320 characters.' }),
      phone: t.string({ required: true, description: 'The phone number: 1–64 characters.' }),
      externalId: externalId(t),
      metadata: metadata(t),
    }),
  },
  {
    scope: 'users:write',
    description: 'Creates a user.',
    transaction: false,
    resolve: (_root, { input }, context) => createUser(context, input),
  },
  { outputFields: (t) => ({ user: t.field({ type: User, description: 'The new user.', resolve: (user) => user }) }) },
)

builder.bulkWriteField('createUsers', createUserField, {
  description: 'Creates users.',
  inputsDescription: 'The users to create',
  resolve: (_root, { inputs }, context) => createUsers(context, inputs),
})

const updateUserField = builder.writeField(
  'updateUser',
  {
    description: 'The changes.',
    rules: 'Absent fields keep their value.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The id of the user.' }),
      name: t.string({ description: 'The full name: 1–200 characters, trimmed. Not null.' }),
      email: t.string({ description: 'The email address: up to 320 characters. Not null.' }),
      phone: t.string({ description: 'The phone number: 1–64 characters. Null clears it.' }),
      externalId: externalId(t, ' Null clears it.'),
      metadata: metadata(t, ' It replaces the object. Null clears it.'),
      ...expectedUpdatedAt('user')(t),
    }),
  },
  {
    scope: 'users:write',
    description: 'Changes a user.',
    restrictions: ifUnchanged,
    transaction: false,
    resolve: (_root, { input }, context) => updateUser(context, input),
  },
  {
    outputFields: (t) => ({
      user: t.field({
        type: User,
        description: 'The changed user.',
        scope: 'users:read',
        current: 'instead',
        resolve: (user) => user,
      }),
    }),
  },
)

builder.bulkWriteField('updateUsers', updateUserField, {
  description: 'Changes users.',
  inputsDescription: 'The changes',
  resolve: (_root, { inputs }, context) => updateUsers(context, inputs),
})

const upsertUserField = builder.writeField(
  'upsertUser',
  {
    description: 'The user to create or to change.',
    rules: 'Absent fields keep their value. `name`, `email` and `phone` are required to create a user.',
    inputFields: (t) => ({
      externalId: t.string({
        required: true,
        description: 'The id of the user in your own system: 1–200 characters. The user who has it is changed.',
      }),
      name: t.string({ description: 'The full name: 1–200 characters, trimmed. Not null.' }),
      email: t.string({ description: 'The email address: up to 320 characters. Not null.' }),
      phone: t.string({ description: 'The phone number: 1–64 characters. Null clears it.' }),
      metadata: metadata(t, ' It replaces the object. Null clears it.'),
    }),
  },
  {
    scope: 'users:write',
    description: 'Changes the user with an `externalId`, or creates one if your tenant has none.',
    transaction: false,
    resolve: (_root, { input }, context) => upsertUser(context, input),
  },
  {
    outputFields: (t) => ({
      user: t.field({
        type: User,
        description: 'The new or changed user.',
        scope: 'users:read',
        resolve: ({ user }) => user,
      }),
      created: t.boolean({ description: 'Whether the user is new.', resolve: ({ created }) => created }),
    }),
  },
)

builder.bulkWriteField('upsertUsers', upsertUserField, {
  description: 'Changes the users with external ids, or creates them.',
  inputsDescription: 'The users to create or to change',
  resolve: (_root, { inputs }, context) => upsertUsers(context, inputs),
})

const deleteUserField = builder.writeField(
  'deleteUser',
  {
    description: 'The user to delete.',
    inputFields: (t) => ({ ...inputWithId('user')(t), ...expectedUpdatedAt('user')(t) }),
  },
  {
    scope: 'users:write',
    description: "Deletes a user and the user's accounts, profiles and emails.",
    restrictions: ifUnchanged,
    transaction: false,
    resolve: (_root, { input }, context) => deleteUser(context, input),
  },
  {
    outputFields: (t) => ({
      deletedUserId: t.field({ type: 'ID', description: 'The id of the deleted user.', resolve: ({ id }) => id }),
      unlinkedAccountIds: t.field({
        type: ['ID'],
        description: "The ids of the user's accounts, which were unlinked.",
        resolve: ({ accountIds }) => accountIds,
      }),
      deletedProfileIds: t.field({
        type: ['ID'],
        description: 'The ids of the profiles that were deleted with these accounts.',
        resolve: ({ profileIds }) => profileIds,
      }),
      user: t.field({
        type: User,
        nullable: true,
        description: 'The user as it is now, with CONFLICT of `expectedUpdatedAt`.',
        scope: 'users:read',
        current: 'only',
        resolve: () => null,
      }),
    }),
  },
)

builder.bulkWriteField('deleteUsers', deleteUserField, {
  description: "Deletes users and the users' accounts, profiles and emails.",
  inputsDescription: 'The users to delete',
  resolve: (_root, { inputs }, context) => deleteUsers(context, inputs),
})
