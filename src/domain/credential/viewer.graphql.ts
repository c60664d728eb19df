import type { Context } from '../../engine/context.ts'
import { builder } from '../../engine/graphql/schema/builder.ts'
import { loadRow } from '../../engine/graphql/schema/rows.ts'
import { TenantApp } from '../tenant/tenant.graphql.ts'
import { User } from '../user/user.graphql.ts'
import { userById } from '../user/user.ts'

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
      resolve: ({ viewer: { userId }, loaders }) => (userId === undefined ? null : loadRow(loaders, userById, userId)),
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: Viewer,
    scope: 'inherited',
    description: 'Returns the holder of the API key or access token of this request.',
    // With the loaders that follow the plan of this field, so that the user and what is below are one statement.
    resolve: (_root, _args, { viewer, loaders }) => ({ viewer, loaders }),
  }),
)
