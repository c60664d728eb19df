import { requireScope } from '../auth/scopes.ts'
import { builder } from '../graphql/schema/builder.ts'
import { readPageRequest, toConnection } from '../graphql/schema/connection.ts'
import { type ExtraPoints, pointsOfScan } from '../graphql/schema/field-price.ts'
import { defineMutation } from '../graphql/schema/mutation.ts'
import { Node, registerNode } from '../graphql/schema/node.ts'
import { defineOrder } from '../graphql/schema/order.ts'
import { asParent, loadRow } from '../graphql/schema/rows.ts'
import { userById, userIds } from './user.rows.ts'
import { countUsers, createUser, deleteUser, readUserPage, type UserList, updateUser } from './user.service.ts'

export const User = builder.prismaObject('User', {
  scope: 'inherited',
  description: 'A user of the tenant app.',
  interfaces: [Node],
  fields: (t) => ({
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The creation time.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
    name: t.exposeString('name', { description: 'The full name.' }),
    email: t.exposeString('email', { scope: 'contacts:read', description: 'The email address.' }),
    phone: t.exposeString('phone', { nullable: true, scope: 'contacts:read', description: 'The phone number.' }),
    tenantAppId: t.exposeID('tenantAppId', { description: 'The id of the tenant app that the user belongs to.' }),
  }),
})

registerNode('User', userIds, 'users:read', userById)

const UserFilter = builder.inputType('UserFilter', {
  description: 'Selects users. An absent or null field does not restrict the list.',
  fields: (t) => ({
    email: t.string({ description: 'The exact email address. Needs the scope `contacts:read`.' }),
    nameContains: t.string({ description: 'A part of the name. Case is ignored.' }),
    createdAfter: t.field({ type: 'DateTime', description: 'Created after this time.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Created before this time.' }),
  }),
})

const pointsOfSearch: ExtraPoints = ({ filter }) =>
  (filter as UserList['filter'] | null | undefined)?.nameContains == null ? 0 : pointsOfScan

const UserOrder = defineOrder('User', 'users')

builder.queryFields((t) => ({
  user: t.field({
    type: User,
    nullable: true,
    scope: 'users:read',
    description: 'Returns the user with this id, or null if your tenant has none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the user.' }) },
    resolve: (_, { id }, { loaders }) => loadRow(loaders, userById, id),
  }),
  users: t.connection(
    {
      type: User,
      scope: 'users:read',
      description: "Lists your tenant's users, oldest first by default.",
      extensions: { extraPoints: pointsOfSearch },
      args: {
        filter: t.arg({ type: UserFilter, description: 'Selects users. All by default.' }),
        orderBy: t.arg({ type: UserOrder, description: 'The order. Oldest first by default.' }),
      },
      resolve: async (_, { filter, orderBy, ...args }, context) => {
        // A viewer who can search for an email address learns it when a user is found.
        if (filter?.email != null) requireScope(context.viewer, 'contacts:read')
        const page = readPageRequest(args)
        const list: UserList = { filter: filter ?? {}, direction: orderBy?.direction ?? 'ASC' }
        const rows = await readUserPage(context, list, page)
        return { ...toConnection(page, rows.map(asParent<'User'>)), list }
      },
    },
    {
      name: 'UserConnection',
      scope: 'inherited',
      description: 'A page of users.',
      fields: (connection) => ({
        totalCount: connection.int({
          description: 'The number of users in the whole list. It is counted only if requested.',
          extensions: { extraPoints: (() => pointsOfScan) satisfies ExtraPoints },
          resolve: ({ list }, _, context) => countUsers(context, list.filter),
        }),
      }),
    },
    { name: 'UserEdge', scope: 'inherited', description: 'A user and its cursor.' },
  ),
}))

const CreateUserInput = builder.inputType('CreateUserInput', {
  description: 'The input of `createUser`.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The full name: 1–200 characters, trimmed.' }),
    email: t.string({ required: true, description: 'The email address: up to 320 characters.' }),
    phone: t.string({ required: true, description: 'The phone number: 1–64 characters.' }),
  }),
})

defineMutation('createUser', {
  scope: 'users:write',
  description: 'Creates a user.',
  input: CreateUserInput,
  inputDescription: 'The user to create.',
  results: [{ field: 'user', type: User, description: 'The new user.' }],
  hasOneWrite: true,
  run: createUser,
})

const UpdateUserInput = builder.inputType('UpdateUserInput', {
  description: 'The input of `updateUser`. Absent fields keep their value.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The id of the user.' }),
    name: t.string({ description: 'The full name: 1–200 characters, trimmed. Null keeps it.' }),
    email: t.string({ description: 'The email address: up to 320 characters. Null keeps it.' }),
    phone: t.string({ description: 'The phone number: 1–64 characters. Null clears it.' }),
  }),
})

defineMutation('updateUser', {
  scope: 'users:write',
  description: 'Changes a user.',
  input: UpdateUserInput,
  inputDescription: 'The changes.',
  results: [{ field: 'user', type: User, description: 'The changed user.', scope: 'users:read' }],
  hasOneWrite: true,
  run: updateUser,
})

const DeleteUserInput = builder.inputType('DeleteUserInput', {
  description: 'The input of `deleteUser`.',
  fields: (t) => ({ id: t.id({ required: true, description: 'The id of the user.' }) }),
})

defineMutation('deleteUser', {
  scope: 'users:write',
  description: "Deletes a user and the user's accounts, profiles and emails.",
  input: DeleteUserInput,
  inputDescription: 'The user to delete.',
  results: [{ field: 'deletedUserId', type: 'ID', description: 'The id of the deleted user.' }],
  hasOneWrite: true,
  run: deleteUser,
})
