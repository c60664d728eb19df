import type { Context } from '@fusion-gateway/gateway-kit'
import { inputWithId, plannedLoaders } from '@fusion-gateway/pothos-trees'
import { asParent } from '@fusion-gateway/prisma-trees'
import { builder } from '../builder.ts'
import { Node, registerNode } from '../node.graphql.ts'
import { scopes, userScopes } from '../scopes.ts'
import { TenantApp } from '../tenant/tenant.graphql.ts'
import { User } from '../user/user.graphql.ts'
import { userById } from '../user/user.ts'
import { createAccessToken } from './access-token.service.ts'
import { createApiKey, revokeApiKey } from './api-key.service.ts'
import { keyById, keyIds } from './key.service.ts'

/** `['users:read', 'users:write']` ⇒ `` `users:read` or `users:write` `` */
const namesOf = (names: readonly string[]) =>
  new Intl.ListFormat('en', { type: 'disjunction' }).format(names.map((name) => `\`${name}\``))

const ApiKey = builder.prismaObject('ApiKey', {
  scope: 'inherited',
  description: 'An API key of your tenant. The key itself is shown only when it is created.',
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name.' }),
    scopes: t.exposeStringList('scopes', { description: 'The scopes of the key.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The creation time.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time when the key expires. Null: never.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time when the key was revoked.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time when the key or one of its tokens was last used, accurate to the minute.',
    }),
    pointsPerMinute: t.exposeInt('pointsPerMinute', {
      nullable: true,
      description:
        'How many points the key can spend per minute, if that is less than other keys can. Null: as many as they.',
    }),
  }),
})

builder.prismaObjectField(ApiKey, 'creator', (t) =>
  t.prismaField({
    type: ApiKey,
    nullable: true,
    scope: 'inherited',
    description: 'The key that created this key, itself or by a token. Null if an operator created it.',
    relation: { relation: keyById, from: 'creatorId' },
    resolve: (query, { creatorId }, _args, { db }) =>
      creatorId === null ? null : db.apiKey.findFirst({ ...query, where: { id: creatorId } }),
  }),
)

registerNode('ApiKey', keyIds, 'keys:write', keyById, { hasOnlyOwnIds: true })

builder.queryField('apiKey', (t) =>
  t.prismaField({
    type: ApiKey,
    nullable: true,
    scope: 'keys:write',
    description: 'Returns the API key with this id, or null if your tenant has none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the API key.' }) },
    root: { model: 'ApiKey', ids: 'id' },
    resolve: (query, _root, { id }, { db }) => db.apiKey.findFirst({ ...query, where: { id } }),
  }),
)

const apiKeys = builder.list(ApiKey, { plural: 'API keys' })

builder.queryField('apiKeys', (t) =>
  t.list(apiKeys, {
    scope: 'keys:write',
    description: "Lists your tenant's API keys, including those that were revoked or have expired in the last 30 days.",
  }),
)

builder.writeField(
  'createApiKey',
  {
    description: 'The key to create.',
    inputFields: (t) => ({
      name: t.string({ required: true, description: 'The name: 1–200 characters in one line.' }),
      scopes: t.stringList({
        description:
          'The scopes of the key: some of the scopes of the key of this request. All of them by default; null is rejected.',
      }),
      expiresAt: t.field({
        type: 'DateTime',
        description: 'The time when the key expires. By default when the key or token of this request expires.',
      }),
      pointsPerMinute: t.int({
        description:
          'How many points the key can spend per minute, if that is less than other keys can: 1 or more, and at most those of the key ' +
          'of this request, which are the default.',
      }),
    }),
  },
  {
    scope: 'keys:write',
    description:
      'Creates an API key for your tenant. A tenant cannot create a key while it has 20 valid ones, and no more than 100 in 24 hours.',
    restrictions: { fields: ['scopes'] },
    isSecret: true,
    resolve: (_root, { input }, context) => createApiKey(context, input),
  },
  {
    outputFields: (t) => ({
      apiKey: t.field({ type: ApiKey, description: 'The new key.', resolve: ({ row }) => row }),
      key: t.field({ type: 'String', description: 'The key itself. It is shown only now.', resolve: ({ key }) => key }),
    }),
  },
)

builder.writeField(
  'revokeApiKey',
  { description: 'The key to revoke.', inputFields: inputWithId('key') },
  {
    scope: 'keys:write',
    description:
      'Revokes an API key of your tenant, and all keys that it has created, themselves or by others. They, their access tokens and their ' +
      'streams end within five seconds. Needs the scopes of the key. Revoking it again changes nothing.',
    resolve: (_root, { input }, context) => revokeApiKey(context, input),
  },
  {
    outputFields: (t) => ({
      apiKey: t.field({ type: ApiKey, description: 'The revoked key.', resolve: (apiKey) => apiKey }),
    }),
  },
)

builder.writeField(
  'createAccessToken',
  {
    description: 'The token to create.',
    inputFields: (t) => ({
      userId: t.id({
        description:
          "The user to whom the token is bound: it sees only this user and the user's data. Without it, or with null, the token sees the tenant; a variable without a value is rejected.",
      }),
      scopes: t.stringList({
        description:
          `The scopes of the token: some of those of the key, which can be ${namesOf(scopes)}. By default those for reading; null is rejected. ` +
          `A token for a user can have ${namesOf(userScopes)}.`,
      }),
      expiresInSeconds: t.int({
        description: 'How long the token is valid, in seconds: 60–86,400. 3,600 by default. It ends with its key.',
      }),
    }),
  },
  {
    scope: 'tokens:create',
    description:
      'Creates an access token, which a browser or an app sends as `Authorization: Bearer …`. Revoking the key ends it within five seconds.',
    restrictions: { fields: ['scopes'], nullable: ['userId'] },
    isSecret: true,
    transaction: false,
    resolve: (_root, { input }, context) => createAccessToken(context, input),
  },
  {
    outputFields: (t) => ({
      accessToken: t.field({
        type: 'String',
        description: 'The token. It is shown only now.',
        resolve: ({ accessToken }) => accessToken,
      }),
      expiresAt: t.field({
        type: 'DateTime',
        description: 'The time when the token expires.',
        resolve: ({ expiresAt }) => expiresAt,
      }),
    }),
  },
)

const Viewer = builder.objectRef<Pick<Context, 'viewer' | 'loaders'>>('Viewer').implement({
  scope: 'inherited',
  description: 'The holder of the API key or access token of this request.',
  fields: (t) => ({
    tenantApp: t.field({
      type: TenantApp,
      description: 'The tenant app that the key or token belongs to.',
      resolve: ({ viewer: { tenantAppId, tenantName } }) => ({ id: tenantAppId, name: tenantName }),
    }),
    keyName: t.string({
      description: 'The name of the key. For an access token: of the key that created it, or of its issuer.',
      resolve: ({ viewer }) => viewer.keyName,
    }),
    scopes: t.stringList({
      description: 'The scopes of the key or token.',
      resolve: ({ viewer }) => [...viewer.scopes],
    }),
    user: t.field({
      type: User,
      nullable: true,
      scope: 'users:read',
      description: 'The user to whom the access token is bound. Null for a key, and for a token of the tenant.',
      async resolve({ viewer: { userId }, loaders }) {
        const user = userId === undefined ? null : await loaders.load(userById, userId)
        return user && asParent<'User'>(user)
      },
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: Viewer,
    scope: 'inherited',
    description: 'Returns the holder of the API key or access token of this request.',
    // With the loaders that follow the plan of this field, so that the user and what is below are one statement.
    resolve: (_root, _args, context, info) => ({ viewer: context.viewer, loaders: plannedLoaders(context, info) }),
  }),
)
