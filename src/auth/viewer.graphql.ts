import { builder } from '../graphql/builder.ts'
import type { Viewer as ViewerShape } from './viewer.ts'

const TenantApp = builder.objectRef<{ id: string; name: string }>('TenantApp').implement({
  scope: 'inherited',
  description: 'An app whose users live here. A key sees one tenant app and nothing of any other.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id.' }),
    name: t.exposeString('name', { description: 'The name.' }),
  }),
})

const Viewer = builder.objectRef<ViewerShape>('Viewer').implement({
  scope: 'inherited',
  description: 'Whoever asks: the API key of this request.',
  fields: (t) => ({
    tenantApp: t.field({
      type: TenantApp,
      description: 'The tenant app that the key belongs to.',
      resolve: ({ tenantAppId, tenantName }) => ({ id: tenantAppId, name: tenantName }),
    }),
    keyName: t.exposeString('keyName', { description: "The key's name." }),
    scopes: t.exposeStringList('scopes', { description: 'What the key may do.' }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: Viewer,
    scope: 'inherited',
    description: 'Whoever asks: the API key of this request.',
    resolve: (_root, _args, { viewer }) => viewer,
  }),
)
