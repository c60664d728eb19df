import { builder } from '../builder.ts'

export const TenantApp = builder.objectRef<{ id: string; name: string }>('TenantApp').implement({
  scope: 'inherited',
  description: 'An app and its users. An API key belongs to one tenant app and sees no other.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id.' }),
    name: t.exposeString('name', { description: 'The name.' }),
  }),
})
