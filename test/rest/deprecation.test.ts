import { dataModel, getDatamodel } from '@fusion-gateway/database'
import { metadataOf, treesPlugin } from '@fusion-gateway/pothos-trees'
import SchemaBuilder from '@pothos/core'
import type { GraphQLObjectType } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

const { phone = expect.fail('no field') } = (schemas.schema.getType('User') as GraphQLObjectType).getFields()
const deprecation = { reason: 'Use `phones`.', since: '2027-01-31', sunset: '2027-08-01' }

beforeAll(async () => {
  // No field of this version is deprecated, so one is declared here as the option of a field would.
  Object.assign(metadataOf(phone), { deprecation })
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(async () => {
  // Other files of this process have the same schema.
  Object.assign(metadataOf(phone), { deprecation: undefined })
  await app.close()
})

it('a route that selects a deprecated field says so, and until when the field stays', async () => {
  for (const url of ['/users', '/users/usr_unknown']) {
    const { headers } = await app.rest(tenant, 'GET', url)
    expect(headers).toMatchObject({ deprecation: '@1801353600', sunset: 'Sun, 01 Aug 2027 00:00:00 GMT' })
  }
  const { headers } = await app.rest(tenant, 'GET', '/fusion/jobs/job_1')
  expect(headers).not.toHaveProperty('deprecation')
  expect(headers).not.toHaveProperty('sunset')
})

it('the schema has the reason and the days of a declared deprecation, and none without days', () => {
  // A builder of its own: the gateway's has no such type.
  const builder = new SchemaBuilder<{ DefaultFieldNullability: false }>({
    plugins: [treesPlugin],
    defaultFieldNullability: false,
    trees: { model: dataModel, hasDatedDeprecations: true },
    prisma: { client: () => expect.fail('no database'), dmmf: getDatamodel() },
  })
  const type = builder.objectRef<object>('Aged').implement({
    scope: 'inherited',
    description: 'A type with a deprecated field.',
    fields: (t) => ({ old: t.string({ description: 'An old field.', deprecation, resolve: () => '' }) }),
  })
  const aged = builder.toSchema({}).getType('Aged') as GraphQLObjectType
  expect(aged.getFields()['old']?.deprecationReason).toBe(
    'Use `phones`. Deprecated since 2027-01-31, and removed from 2027-08-01 on.',
  )
  builder.objectField(type, 'undated', (t) =>
    t.string({ description: 'A field.', deprecationReason: 'Old.', resolve: () => '' }),
  )
  expect(() => builder.toSchema({})).toThrow('Aged.undated needs dates')
})
