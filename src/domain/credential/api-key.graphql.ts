import { builder } from '../../engine/graphql/schema/builder.ts'
import { defineList } from '../../engine/graphql/schema/list.ts'
import { defineMutation, inputWithId } from '../../engine/graphql/schema/mutation.ts'
import { Node, registerNode } from '../../engine/graphql/schema/node.ts'
import { createApiKey, revokeApiKey } from './api-key.service.ts'
import { keyById, keyIds } from './key.ts'

const ApiKey = builder.prismaObject('ApiKey', {
  scope: 'inherited',
  description: 'An API key of your tenant. The key itself is shown only when it is created.',
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name.' }),
    scopes: t.exposeStringList('scopes', { description: 'What the key may do.' }),
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
  }),
})

registerNode('ApiKey', keyIds, 'keys:write', keyById, { isPrefixed: true })

defineList('apiKeys', {
  model: 'ApiKey',
  type: ApiKey,
  plural: 'API keys',
  scope: 'keys:write',
  description: "Lists your tenant's API keys, also those that are revoked or have expired.",
})

defineMutation('createApiKey', {
  scope: 'keys:write',
  description: 'Creates an API key for your tenant. A tenant that has 20 valid keys cannot create another one.',
  inputDescription: 'The key to create.',
  input: (t) => ({
    name: t.string({ required: true, description: 'The name: 1–200 characters in one line.' }),
    scopes: t.stringList({
      description: 'What the key may do: some of the scopes of the key of this request. All of them by default.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description: 'The time when the key expires. By default when the key or token of this request expires.',
    }),
  }),
  isSecret: true,
  results: [
    { field: 'apiKey', type: ApiKey, description: 'The new key.', value: ({ row }) => row },
    {
      field: 'key',
      type: 'String',
      description: 'The key itself. It is shown only now.',
      value: ({ key }) => key,
    },
  ],
  hasOneWrite: true,
  run: createApiKey,
})

defineMutation('revokeApiKey', {
  scope: 'keys:write',
  description:
    'Revokes an API key of your tenant. The key, its access tokens and their streams end within five seconds. Revoking it again changes nothing.',
  inputDescription: 'The key to revoke.',
  input: inputWithId('key'),
  results: [{ field: 'apiKey', type: ApiKey, description: 'The revoked key.' }],
  hasOneWrite: true,
  run: revokeApiKey,
})
