// SOFA over the gateway's schema, on node:http.
import { createServer } from 'node:http'
import { registerHooks } from 'node:module'
import type { GraphQLObjectType } from 'graphql'
import { seeded } from '../seeded.js'

// A schema works only with the copy of graphql that created it, so SOFA gets the gateway's copy.
const gateway = new URL('../../src/domain/schema.graphql.ts', import.meta.url).href
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, /^graphql(\/|$)/.test(specifier) ? { ...context, parentURL: gateway } : context),
})
const { useSofa } = await import('sofa-api')
const { scopes } = await import('../../src/domain/scopes.ts')
const { createContext } = await import('@fusion-gateway/gateway-kit')
const { openDatabase } = await import('../../src/database.ts')
const {
  schemas: { schema },
} = await import('../../src/domain/schema.graphql.ts')
const { readConfig } = await import('../../src/config.ts')
const { createServices } = await import('../../src/domain/services.ts')

// SOFA asks for every field, and knows no value for an argument that is required.
const fieldsOfProfile = (schema.getType('Profile') as GraphQLObjectType).getFields()
for (const name of ['growth', 'history']) delete fieldsOfProfile[name]

const config = readConfig(process.env)
const services = createServices(await openDatabase(config.database), config)
const viewer = { tenantAppId: seeded.tenant, tenantName: '', keyId: '', keyName: '', scopes }
const log = { error: () => undefined, warn: () => undefined }

createServer(
  useSofa({
    basePath: '/api',
    schema,
    routes: { 'Query.profiles': { method: 'POST' } },
    context: () => createContext(services, { viewer, log, statements: { statements: 0 } }),
  }),
).listen(Number(process.env['PORT']), '127.0.0.1', () => void process.stdout.write('ready\n'))
