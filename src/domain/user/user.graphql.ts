import { builder } from '../../engine/graphql/schema/builder.ts'
import { defineBulkMutation } from '../../engine/graphql/schema/bulk-mutation.ts'
import { addExistence, addNullConditions, defineFilter, withText } from '../../engine/graphql/schema/filter.ts'
import { addLogic } from '../../engine/graphql/schema/filter-tree.ts'
import { defineList } from '../../engine/graphql/schema/list.ts'
import { defineMutation, expectedUpdatedAt, ifUnchanged, inputWithId } from '../../engine/graphql/schema/mutation.ts'
import { Node, registerNode } from '../../engine/graphql/schema/node.ts'
import { defineOrder } from '../../engine/graphql/schema/order.ts'
import { defineLive } from '../event/live.graphql.ts'
import { defineLiveList } from '../event/live-list.graphql.ts'
import { TenantApp } from '../tenant/tenant.graphql.ts'
import { createUser, createUsers, deleteUser, deleteUsers, updateUser, updateUsers } from './user.service.ts'
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

defineLive('user', {
  type: User,
  scope: 'users:read',
  relation: userById,
  follows: 'the user, and of the accounts and profiles of the user',
  by: 'userId',
  find: async ({ rows }, id) => ((await rows.find('User', [id])).has(id) ? id : null),
})

export const UserFilter = defineFilter('User', 'users', (f) => ({
  ids: f.ids({ description: 'The user has one of these ids.', where: (values) => ({ id: { in: values } }) }),
  email: f.text({
    description: 'The exact email address. Needs the scope `contacts:read`.',
    scope: 'contacts:read',
    where: (value) => ({ email: value }),
  }),
  search: f.text({
    description: 'A part of the name, or of the email address with the scope `contacts:read`. Case is ignored.',
    isScan: true,
    where: (text, { viewer }) =>
      viewer.scopes.includes('contacts:read') ? withText(text, 'name', 'email') : withText(text, 'name'),
  }),
  nameContains: f.text({
    description: 'A part of the name. Case is ignored.',
    isScan: true,
    where: (text) => withText(text, 'name'),
  }),
  platform: f.text({
    description: 'Users with an account on this platform, such as `YOUTUBE`.',
    isScan: true,
    where: (platform) => ({ accounts: { some: { platform } } }),
  }),
  platforms: f.texts({
    description: 'Users with an account on one of these platforms.',
    isScan: true,
    where: (values) => ({ accounts: { some: { platform: { in: values } } } }),
  }),
  createdAfter: f.time({ description: 'Created after this time.', where: (gt) => ({ createdAt: { gt } }) }),
  createdBefore: f.time({ description: 'Created before this time.', where: (lt) => ({ createdAt: { lt } }) }),
  updatedAfter: f.time({ description: 'Changed after this time.', where: (gt) => ({ updatedAt: { gt } }) }),
  updatedBefore: f.time({ description: 'Changed before this time.', where: (lt) => ({ updatedAt: { lt } }) }),
}))
addLogic(UserFilter)
addNullConditions(UserFilter, ['phone'], { scope: 'contacts:read' })
addExistence(UserFilter, 'hasAccounts', {
  description: 'Whether the user has accounts.',
  scope: 'users:read',
  where: (hasSome) => ({ accounts: hasSome ? { some: {} } : { none: {} } }),
})

const users = {
  model: 'User',
  type: User,
  plural: 'users',
  scope: 'users:read',
  selection: {
    filter: UserFilter,
    order: defineOrder(
      'User',
      'users',
      {
        CREATED_AT: { description: 'The creation time.', orderBy: (sort) => ({ createdAt: sort }) },
        UPDATED_AT: { description: 'The time of the last change.', orderBy: (sort) => ({ updatedAt: sort }) },
        NAME: { description: 'The first 200 characters of the name.', orderBy: (sort) => ({ name: sort }) },
      },
      { field: 'CREATED_AT', direction: 'ASC' },
    ),
    defaultOrder: 'Oldest first',
  },
} as const

defineList('users', { ...users, description: "Lists your tenant's users." })

defineLiveList('users', users)

const createUserMutation = defineMutation('createUser', {
  scope: 'users:write',
  description: 'Creates a user.',
  inputDescription: 'The user to create.',
  input: (t) => ({
    name: t.string({ required: true, description: 'The full name: 1–200 characters, trimmed.' }),
    email: t.string({ required: true, description: 'The email address: up to 320 characters.' }),
    phone: t.string({ required: true, description: 'The phone number: 1–64 characters.' }),
  }),
  results: [{ field: 'user', type: User, description: 'The new user.' }],
  transaction: false,
  run: createUser,
})

defineBulkMutation('createUsers', createUserMutation, {
  description: 'Creates users.',
  inputsDescription: 'The users to create',
  run: createUsers,
})

const updateUserMutation = defineMutation('updateUser', {
  scope: 'users:write',
  description: 'Changes a user.',
  inputDescription: 'The changes.',
  inputRules: 'Absent fields keep their value.',
  input: (t) => ({
    id: t.id({ required: true, description: 'The id of the user.' }),
    name: t.string({ description: 'The full name: 1–200 characters, trimmed. Not null.' }),
    email: t.string({ description: 'The email address: up to 320 characters. Not null.' }),
    phone: t.string({ description: 'The phone number: 1–64 characters. Null clears it.' }),
    ...expectedUpdatedAt('user')(t),
  }),
  restrictions: ifUnchanged,
  results: [{ field: 'user', type: User, description: 'The changed user.', scope: 'users:read', current: 'instead' }],
  transaction: false,
  run: updateUser,
})

defineBulkMutation('updateUsers', updateUserMutation, {
  description: 'Changes users.',
  inputsDescription: 'The changes',
  run: updateUsers,
})

const deleteUserMutation = defineMutation('deleteUser', {
  scope: 'users:write',
  description: "Deletes a user and the user's accounts, profiles and emails.",
  inputDescription: 'The user to delete.',
  input: (t) => ({ ...inputWithId('user')(t), ...expectedUpdatedAt('user')(t) }),
  restrictions: ifUnchanged,
  results: [
    { field: 'deletedUserId', type: 'ID', description: 'The id of the deleted user.', value: ({ id }) => id },
    {
      field: 'unlinkedAccountIds',
      type: ['ID'],
      description: "The ids of the user's accounts, which were unlinked.",
      value: ({ accountIds }) => accountIds,
    },
    {
      field: 'deletedProfileIds',
      type: ['ID'],
      description: 'The ids of the profiles that were deleted with these accounts.',
      value: ({ profileIds }) => profileIds,
    },
    {
      field: 'user',
      type: User,
      description: 'The user as it is now, with CONFLICT of `expectedUpdatedAt`.',
      scope: 'users:read',
      current: 'only',
    },
  ],
  transaction: false,
  run: deleteUser,
})

defineBulkMutation('deleteUsers', deleteUserMutation, {
  description: "Deletes users and the users' accounts, profiles and emails.",
  inputsDescription: 'The users to delete',
  run: deleteUsers,
})
