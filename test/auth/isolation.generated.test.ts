import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scopes } from '../../src/auth/scopes.ts'
import { createContext } from '../../src/context.ts'
import { schema } from '../../src/graphql/operation/schema.ts'
import { followJob } from '../../src/job/changes/follow-jobs.ts'
import { routes } from '../../src/rest/routes.ts'
import { importFile } from '../../src/transfer/import.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

/**
 * Two tenants whose rows have the very same ids: every text of a row says whose it is. So a read or a write that forgets
 * its tenant is seen, whichever field, argument or path it comes by.
 */
let app: TestApp
let mine: TestTenant
let theirs: TestTenant

const twins = {
  User: 'twin_user',
  Account: 'twin_account',
  Profile: 'twin_profile',
  EmailRecord: 'twin_email',
  Job: 'twin_job',
}
const leaseToken = '6a0f1d7e-0000-4000-8000-000000000001'

async function makeTwin(tenant: TestTenant) {
  const make = factoriesFor(app, tenant)
  const of = (what: string) => `${what} of ${tenant.name}`
  await make.user({ id: twins.User, name: of('User'), email: `${tenant.name}@example.com`, phone: of('Phone') })
  const account = { id: twins.Account, platformAccountId: of('Account'), displayName: of('Account') }
  await make.account(twins.User, account)
  await make.profile({ ...account, platform: 'YOUTUBE' }, { id: twins.Profile, fullName: of('Profile') })
  await make.email(twins.Profile, { id: twins.EmailRecord, value: of('Email') })
  const job = { payload: { of: of('Job') }, status: 'RUNNING', leaseToken, leaseExpiresAt: new Date(4e12) } as const
  await make.job({ id: twins.Job, ...job, runAt: new Date(), maxAttempts: 3, attempts: 1 })
  // And one of each that the other does not have.
  const user = await make.user({ id: `own_user_${tenant.name}`, name: of('Own user') })
  const own = await make.account(user.id, { id: `own_account_${tenant.name}`, displayName: of('Own account') })
  const profile = await make.profile(own, { id: `own_profile_${tenant.name}`, fullName: of('Own profile') })
  await make.email(profile.id, { id: `own_email_${tenant.name}`, value: of('Own email') })
  await make.job({
    id: `own_job_${tenant.name}`,
    ...job,
    payload: { of: of('Own job') },
    runAt: new Date(),
    maxAttempts: 3,
  })
}

beforeAll(async () => {
  app = await startTestApp()
  ;[mine, theirs] = [await app.createTenant('Mine'), await app.createTenant('Theirs')]
  await makeTwin(mine)
  await makeTwin(theirs)
})
afterAll(() => app.close())

const foreign = ['user', 'account', 'profile', 'email', 'job'].map((type) => `own_${type}_Theirs`)

/** Everything of the other tenant, as it is stored. */
async function theirRows() {
  const tables = ['"user"', 'account', 'profile', 'email_record', 'job']
  const rows = tables.map((table) =>
    app.database.prisma.$queryRawUnsafe(
      `SELECT to_json(t)::text AS row FROM ${table} t WHERE tenant_app_id = '${theirs.tenantAppId}' ORDER BY id`,
    ),
  )
  return JSON.stringify(await Promise.all(rows))
}

function isTheirs(text: string): boolean {
  return text.includes('Theirs') || text.includes(theirs.tenantAppId)
}

/** All fields of a type, and theirs, so many levels down. */
function selection(type: GraphQLNamedType, levels: number): string {
  if (!isObjectType(type) && !isInterfaceType(type)) return ''
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const named = getNamedType(field.type)
    if (!isCompositeType(named)) return [field.name]
    return levels > 0 ? [`${field.name} ${selection(named, levels - 1)}`] : []
  })
  return `{ __typename ${fields.join(' ')} }`
}

/** Selections that together hold all fields of a type; of an interface, one for each type that it may be. */
function selections(type: GraphQLNamedType, levels: number): string[] {
  if (!isInterfaceType(type)) return [selection(type, levels)]
  return schema.getPossibleTypes(type).map((one) => `{ __typename id ... on ${one.name} ${selection(one, levels)} }`)
}

const rootFields = (root: 'getQueryType' | 'getMutationType') => Object.values(schema[root]()?.getFields() ?? {})

const idArguments = (field: GraphQLField<unknown, unknown>) =>
  field.args.filter(({ type }) => getNamedType(type).name === 'ID')

describe('GraphQL: a field that takes ids', () => {
  const fields = rootFields('getQueryType').filter((field) => idArguments(field).length > 0)
  it('is found', () =>
    expect(fields.map(({ name }) => name).sort()).toEqual(['account', 'job', 'node', 'nodes', 'profiles', 'user']))

  it.each(fields.map((field) => [field.name, field] as const))(
    '%s: an id of the other tenant is one that nobody has; a shared id is the row of one’s own',
    async (name, field) => {
      const [{ name: argument, type }] = idArguments(field) as [GraphQLField<unknown, unknown>['args'][number]]
      const isList = isListType(getNullableType(type))
      const answers: unknown[] = []
      for (const selected of selections(getNamedType(field.type), 3)) {
        const query = `query ($id: ${type}) { ${name}(${argument}: $id) ${selected} }`
        const ask = (id: string) => app.graphql(mine, query, { id: isList ? [id] : id })
        const nobody = await ask('nobody')
        expect(nobody.errors).toBeUndefined()
        for (const id of foreign) expect(await ask(id)).toEqual(nobody)
        for (const id of Object.values(twins)) {
          const { data, errors } = await ask(id)
          expect(errors).toBeUndefined()
          expect(isTheirs(JSON.stringify(data))).toBe(false)
          answers.push(data)
        }
      }
      expect(JSON.stringify(answers)).toContain('of Mine')
    },
  )
})

describe('GraphQL: a list', () => {
  const lists = rootFields('getQueryType').filter(({ args }) => args.some(({ name }) => name === 'first'))
  it('is found', () => expect(lists.map(({ name }) => name).sort()).toEqual(['jobs', 'users']))

  it.each(lists.map((field) => [field.name, field] as const))(
    '%s: holds one’s own rows alone, all the way down, whatever the filter and the cursor',
    async (name, field) => {
      const fields = selection(getNamedType(field.type), 3)
      const filter = getNamedType(field.args.find((arg) => arg.name === 'filter')?.type as GraphQLInputType)
      const texts = isInputObjectType(filter)
        ? Object.values(filter.getFields()).filter(({ type }) => String(type) === 'String')
        : []
      expect(texts.length).toBeGreaterThan(0)
      const filters = [
        {},
        ...texts.flatMap((one) => ['Theirs', 'Theirs@example.com', 'o'].map((text) => ({ [one.name]: text }))),
      ]
      const theirPage = await app.graphql<Record<string, { edges: { cursor: string }[] }>>(
        theirs,
        `{ ${name} { edges { cursor } } }`,
      )
      const cursors = [null, ...(theirPage.data[name]?.edges ?? []).map(({ cursor }) => cursor)]
      const query = `query ($filter: ${filter.name}, $after: String, $before: String) {
        ${name}(first: 5, filter: $filter, after: $after, before: $before) ${fields} }`
      for (const one of filters) {
        for (const cursor of cursors) {
          for (const at of [{ after: cursor }, { before: cursor }]) {
            const { data, errors } = await app.graphql(mine, query, { filter: one, ...at })
            expect(errors).toBeUndefined()
            expect(isTheirs(JSON.stringify(data))).toBe(false)
          }
        }
      }
      const { data } = await app.graphql<Record<string, { totalCount: number }>>(mine, `{ ${name} { totalCount } }`)
      expect(data[name]?.totalCount).toBe(2)
    },
  )
})

describe('GraphQL: a mutation', () => {
  /** What an input's other fields need. */
  const samples: Record<string, unknown> = {
    ...{ String: 'x', Int: 5, Float: 0.5, Boolean: true, DateTime: '2026-01-01T00:00:00.000Z', Date: '2026-01-01' },
    ...{ SafeInt: 5, JSONObject: {}, ID: 'nobody' },
  }
  function sample(type: GraphQLInputType): unknown {
    const nullable = getNullableType(type)
    if (isListType(nullable)) return [sample(nullable.ofType)]
    if (!isInputObjectType(nullable)) return samples[getNamedType(nullable).name]
    const required = Object.values(nullable.getFields()).filter((field) => isNonNullType(field.type))
    return Object.fromEntries(
      required.map((field) => [field.name, field.name === 'leaseToken' ? leaseToken : sample(field.type)]),
    )
  }

  const cases = rootFields('getMutationType').flatMap(({ name, args }) => {
    const input = getNamedType(args[0]?.type as GraphQLInputType)
    if (!isInputObjectType(input)) throw new Error(`${name} takes no input`)
    const ids = Object.values(input.getFields()).filter(({ type }) => getNamedType(type).name === 'ID')
    return ids.map((field) => ({ name: `${name}(${field.name})`, mutation: name, input, field: field.name }))
  })
  it('with an id is found', () => expect(cases.length).toBeGreaterThan(12))

  it.each(cases)(
    '$name: with an id of the other tenant does what it does with any, and nothing to that tenant',
    async ({ mutation, input, field }) => {
      const query = `mutation ($input: ${input.name}!) { ${mutation}(input: $input) { userErrors { code field message } } }`
      const given = sample(input) as Record<string, unknown>
      for (const id of [...foreign, ...Object.values(twins)]) {
        const before = await theirRows()
        const answer = await app.graphql(mine, query, { input: { ...given, [field]: id } })
        expect(answer.errors).toBeUndefined()
        expect(await theirRows()).toBe(before)
        if (foreign.includes(id)) {
          const nobody = await app.graphql(mine, query, { input: { ...given, [field]: `nobody_${id}` } })
          expect(answer).toEqual(nobody)
        }
      }
    },
  )
})

describe('GraphQL: a subscription', () => {
  it('reads nothing when the other tenant’s job of the same id changes', async () => {
    const contextOf = ({ tenantAppId }: TestTenant) =>
      createContext(app.services, { tenantAppId, tenantName: '', keyId: '', keyName: '', scopes }, app.app.log)
    const [ours, others] = [
      await followJob(contextOf(mine), { id: 'shared' }),
      await followJob(contextOf(theirs), { id: 'shared' }),
    ]
    for (const tenant of [mine, theirs]) await factoriesFor(app, tenant).job({ id: 'shared', status: 'PENDING' })
    // What they are now, and then what has changed: both have been made.
    const both = [await ours.next(), await others.next(), await ours.next(), await others.next()]
    expect(both.map(({ value }) => value?.status)).toEqual(['PENDING', 'PENDING', 'PENDING', 'PENDING'])
    const ourNext = ours.next()
    const statements = await app.statementsOf(async () => {
      const theirNext = others.next()
      const where = { tenantAppId: theirs.tenantAppId, id: 'shared' }
      await app.database.prisma.job.updateMany({ where, data: { status: 'CANCELLED' } })
      expect((await theirNext).value).toMatchObject({ status: 'CANCELLED' })
    })
    expect(statements.filter((sql) => /^SELECT/.test(sql))).toHaveLength(1)
    await ours.return?.()
    await others.return?.()
    await ourNext
  })
})

describe('REST: a path, a query string and a body with an id', () => {
  beforeAll(() => makeTwinsAgain())

  /** The mutations above have deleted some of one's own. */
  async function makeTwinsAgain() {
    await app.database.prisma.user.deleteMany({ where: { tenantAppId: mine.tenantAppId } })
    await app.database.prisma.job.deleteMany({ where: { tenantAppId: mine.tenantAppId } })
    await makeTwin(mine)
  }

  const places = routes.flatMap((route) => {
    const paths = route.url.includes(':id')
      ? [(id: string) => ({ url: route.url.replace(':id', id), body: undefined as unknown })]
      : []
    const isList = route.parameters.some(({ variable }) => variable === 'accountIds')
    const lists = isList
      ? [
          (id: string) => ({ url: `${route.url}?account_ids=${id}`, body: undefined as unknown }),
          (id: string) => ({ url: route.url, body: [id] as unknown }),
        ]
      : []
    return [...paths, ...lists].map((at, index) => ({
      name: `${route.method} ${route.url} #${index}`,
      method: route.method,
      at,
    }))
  })
  it('is found', () => expect(places).toHaveLength(5))

  it.each(places)('$name', async ({ method, at }) => {
    const before = await theirRows()
    const send = async (id: string) => {
      const { url, body } = at(id)
      const answer = await app.rest(
        mine,
        method,
        url,
        body ?? (method === 'PUT' ? { name: 'User of Mine' } : undefined),
      )
      return { status: answer.statusCode, body: answer.body.replaceAll(String(answer.headers['x-request-id']), '') }
    }
    const nobody = await send('nobody')
    for (const id of foreign) expect(await send(id)).toEqual(nobody)
    for (const id of Object.values(twins)) expect(isTheirs((await send(id)).body)).toBe(false)
    expect(await theirRows()).toBe(before)
  })

  it('a list, whole and by pages', async () => {
    for (const url of ['/users', '/users?limit=500']) {
      const { body } = await app.rest(mine, 'GET', url)
      expect(isTheirs(body)).toBe(false)
      expect(body).toContain('User of Mine')
    }
  })

  it('an import replaces the emails of one’s own profile alone, where the other tenant has one of the same id', async () => {
    const before = await theirRows()
    const record = {
      id: twins.Profile,
      username: 'imported',
      user_platform: 'YOUTUBE',
      platform_account_id: 'Account of Mine',
      emails: [],
    }
    const chunks = async function* () {
      yield Buffer.from(`${JSON.stringify(record)}\n`)
    }
    const rejected: unknown[] = []
    const options = { tenantAppId: mine.tenantAppId, onReject: (one: unknown) => void rejected.push(one) }
    const imported = await importFile(app.database, { name: 'file', chunks: chunks() }, options)
    expect([rejected, imported]).toEqual([[], 1])
    expect(await theirRows()).toBe(before)
  })
})
