import type { Viewer as ViewerShape } from '../auth/viewer.ts'
import { builder } from '../graphql/schema/builder.ts'

const TenantApp = builder.objectRef<{ id: string; name: string }>('TenantApp').implement({
  scope: 'inherited',
  description: 'An app and its users. An API key belongs to one tenant app and sees no other.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id.' }),
    name: t.exposeString('name', { description: 'The name.' }),
  }),
})

const Viewer = builder.objectRef<ViewerShape>('Viewer').implement({
  scope: 'inherited',
  description: 'The holder of the API key of this request.',
  fields: (t) => ({
    tenantApp: t.field({
      type: TenantApp,
      description: 'The tenant app that the key belongs to.',
      resolve: ({ tenantAppId, tenantName }) => ({ id: tenantAppId, name: tenantName }),
    }),
    keyName: t.exposeString('keyName', { description: 'The name of the key.' }),
    scopes: t.exposeStringList('scopes', { description: 'The scopes of the key.' }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: Viewer,
    scope: 'inherited',
    description: 'Returns the holder of the API key of this request.',
    resolve: (_root, _args, { viewer }) => viewer,
  }),
)
