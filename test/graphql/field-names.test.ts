import { getNamedType, isCompositeType, isObjectType, isRequiredArgument } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'

const { schema } = schemas

let app: TestApp
let tenant: TestTenant
let ids: Record<string, string>

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const { user, account, profile, email, job } = await createOneOfEach(app, tenant)
  // Every column has a value. Otherwise a column that is not read would look like an empty one.
  const texts = [
    'username',
    'url',
    'gender',
    'fullName',
    'firstName',
    'lastName',
    'nickName',
    'displayName',
    'description',
  ]
  const others = ['profilePictureUrl', 'category', 'websiteUrl', 'country']
  const counts = ['followersCount', 'followingCount', 'subscribersCount', 'contentsCount']
  await app.database.prisma.profile.updateMany({
    where: { id: profile.id },
    data: {
      ...Object.fromEntries([...texts, ...others].map((field) => [field, field])),
      ...Object.fromEntries(counts.map((field, index) => [field, index + 1])),
      watchTimeInHours: 1.5,
      verified: true,
      joinedAt: new Date(),
      dateOfBirth: new Date('2000-01-01'),
      phoneNumbers: [{ a: 1 }],
      addresses: [{ b: 2 }],
    },
  })
  await app.database.prisma.profileMetric.create({
    data: { tenantAppId: tenant.tenantAppId, profileId: profile.id, day: new Date('2026-01-01'), followersCount: 1 },
  })
  await app.database.prisma.job.updateMany({
    where: { id: job.id },
    data: {
      result: { a: 1 },
      maxAttempts: 3,
      progress: 0.5,
      progressMessage: 'half',
      attempts: 1,
      runAt: new Date(),
      startedAt: new Date(),
      finishedAt: new Date(),
      error: { code: 'X', message: 'x', attempt: 1, at: new Date().toISOString() },
    },
  })
  await app.database.prisma.user.updateMany({
    where: { id: user.id },
    data: { externalId: 'ext-1', metadata: { plan: 'pro' } },
  })
  ids = { User: user.id, Account: account.id, Profile: profile.id, EmailRecord: email.id, Job: job.id }
})
afterAll(() => app.close())

const types = ['User', 'Account', 'Profile', 'EmailRecord', 'Job']
const fields = types.flatMap((type) => {
  const object = schema.getType(type)
  if (!isObjectType(object)) throw new Error(`${type} is not an object type`)
  return Object.values(object.getFields()).map((field): [string, string] => {
    const text = `${field.name}${field.args.some(isRequiredArgument) ? '(metric: FOLLOWERS)' : ''}`
    return [type, isCompositeType(getNamedType(field.type)) ? `${text} { __typename }` : text]
  })
})

describe('a read of a node', () => {
  it.each(fields)('returns the same value of %s.%s alone and among all other fields', async (type, field) => {
    const all = fields.filter(([owner]) => owner === type).map(([, selection]) => selection)
    const read = async (selection: string) => {
      const { data, errors } = await app.graphql<{ node: Record<string, unknown> }>(
        tenant,
        `query ($id: ID!) { node(id: $id) { ... on ${type} { ${selection} } } }`,
        { id: ids[type] },
      )
      expect(errors).toBeUndefined()
      return data.node
    }
    const name = field.split(/[ (]/)[0] ?? ''
    const alone = (await read(field))[name]
    expect(alone).toEqual((await read(all.join(' ')))[name])
    expect(alone).not.toBeNull()
  })

  it('selects only the columns of the requested fields', async () => {
    const statements = await app.statementsOf(() =>
      app.graphql(tenant, 'query ($id: ID!) { node(id: $id) { ... on Profile { alias: username } } }', {
        id: ids['Profile'],
      }),
    )
    expect(statements).toHaveLength(1)
    expect(statements[0]).toMatch(/^SELECT "id", "username" FROM/)
  })
})
