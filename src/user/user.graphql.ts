import type { User as UserRow } from '../db/generated/prisma/client.ts'
import { builder } from '../graphql/builder.ts'
import { defineMutation } from '../graphql/mutation.ts'
import { Node, registerNode } from '../graphql/node.ts'
import { defineOrder } from '../graphql/order.ts'
import { readPageRequest, toConnection } from '../graphql/pagination.ts'
import { definePayload } from '../graphql/payload.ts'
import { requireScope } from '../graphql/require-scope.ts'
import { countUsers, createUser, deleteUser, readUserPage, type UserList, updateUser } from './user.service.ts'

export const User = builder.prismaObject('User', {
  scope: 'inherited',
  description: 'A user of the tenant app.',
  interfaces: [Node],
  fields: (t) => ({
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the user was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the user was last changed.' }),
    name: t.exposeString('name', { description: 'The full name.' }),
    email: t.exposeString('email', { scope: 'contacts:read', description: 'The email address.' }),
    phone: t.exposeString('phone', { nullable: true, scope: 'contacts:read', description: 'The phone number.' }),
    tenantAppId: t.exposeID('tenantAppId', { description: 'The tenant app that the user belongs to.' }),
  }),
})

registerNode('User', 'users:read', (id, { loaders }) => loaders.userById.load(id))

const UserFilter = builder.inputType('UserFilter', {
  description: 'Which users to show. A field that is absent or null does not restrict the list.',
  fields: (t) => ({
    email: t.string({ description: 'Exactly this email address. Needs the scope `contacts:read`.' }),
    nameContains: t.string({ description: 'A part of the name, in upper or lower case.' }),
    createdAfter: t.field({ type: 'DateTime', description: 'Made after this time.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Made before this time.' }),
  }),
})

const UserOrder = defineOrder('User', 'users')

builder.queryFields((t) => ({
  user: t.field({
    type: User,
    nullable: true,
    scope: 'users:read',
    description: 'A user by id; null when the tenant has none with it.',
    args: { id: t.arg.id({ required: true, description: "The user's id." }) },
    resolve: (_, { id }, { loaders }) => loaders.userById.load(id),
  }),
  users: t.connection(
    {
      type: User,
      scope: 'users:read',
      description: "The tenant's users, oldest first, page by page.",
      args: {
        filter: t.arg({ type: UserFilter, description: 'Which users to show; all when absent.' }),
        orderBy: t.arg({ type: UserOrder, description: 'The order; oldest first when absent.' }),
      },
      resolve: async (_, { filter, orderBy, ...args }, context) => {
        // Whoever may look for an address knows it when somebody is found.
        if (filter?.email != null) requireScope(context.viewer, 'contacts:read')
        const page = readPageRequest(args)
        const list: UserList = { filter: filter ?? {}, direction: orderBy?.direction ?? 'ASC' }
        return { ...toConnection(page, await readUserPage(context, list, page)), list }
      },
    },
    {
      name: 'UserConnection',
      scope: 'inherited',
      description: "A page of the tenant's users.",
      fields: (connection) => ({
        totalCount: connection.int({
          description: 'How many users the whole list has. Counted only when asked for.',
          resolve: ({ list }, _, context) => countUsers(context, list.filter),
        }),
      }),
    },
    { name: 'UserEdge', scope: 'inherited', description: 'A user and where it stands in the list.' },
  ),
}))

const CreateUserInput = builder.inputType('CreateUserInput', {
  description: 'A new user.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The full name: 1–200 characters, trimmed.' }),
    email: t.string({ required: true, description: 'The email address, up to 320 characters.' }),
    phone: t.string({ required: true, description: 'The phone number: 1–64 characters.' }),
  }),
})

const CreateUserPayload = definePayload<UserRow>('CreateUserPayload', 'user', User, 'The new user.')

defineMutation('createUser', {
  payload: CreateUserPayload,
  scope: 'users:write',
  description: 'Makes a user.',
  input: CreateUserInput,
  inputDescription: 'The new user.',
  work: createUser,
})

const UpdateUserInput = builder.inputType('UpdateUserInput', {
  description: 'What to change of a user. A field that is absent stays as it is.',
  fields: (t) => ({
    id: t.id({ required: true, description: "The user's id." }),
    name: t.string({ description: 'The full name: 1–200 characters, trimmed. Null: unchanged.' }),
    email: t.string({ description: 'The email address, up to 320 characters. Null: unchanged.' }),
    phone: t.string({ description: 'The phone number: 1–64 characters. Null clears it.' }),
  }),
})

const UpdateUserPayload = definePayload<UserRow>(
  'UpdateUserPayload',
  'user',
  User,
  'The user as it is now.',
  'users:read',
)

defineMutation('updateUser', {
  payload: UpdateUserPayload,
  scope: 'users:write',
  description: 'Changes a user.',
  input: UpdateUserInput,
  inputDescription: 'What to change.',
  work: updateUser,
})

const DeleteUserInput = builder.inputType('DeleteUserInput', {
  description: 'The user to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: "The user's id." }) }),
})

const DeleteUserPayload = definePayload<string>(
  'DeleteUserPayload',
  'deletedUserId',
  'ID',
  'The id of the user who is gone.',
)

defineMutation('deleteUser', {
  payload: DeleteUserPayload,
  scope: 'users:write',
  description: "Deletes a user; the user's accounts, profiles and emails go along.",
  input: DeleteUserInput,
  inputDescription: 'The user.',
  work: deleteUser,
})
