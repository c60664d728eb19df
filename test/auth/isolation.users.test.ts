import type { Viewer } from '@fusion-gateway/auth'
import { createContext } from '@fusion-gateway/gateway-kit'
import { type GraphQLField, getNamedType, getNullableType, isListType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountsOfUser } from '../../src/domain/account/account.ts'
import { jobById } from '../../src/domain/job/job.ts'
import { emailsOfProfile } from '../../src/domain/profile/email-record.ts'
import { profileOfAccount } from '../../src/domain/profile/profile.ts'
import { scopes, userScopes } from '../../src/domain/scopes.ts'
import { routes } from '../../src/rest/routes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { bodyOf } from '../support/route-requests.ts'
import {
  idArguments,
  inputsOf,
  listCase,
  listVariables,
  mutationCases,
  rootFields,
  selection,
  selections,
} from './schema-cases.ts'

/**
 * Two users of one tenant, and an access token that is bound to one of them. Every text names its user, so a read or
 * write without a condition on the user is visible in every field, argument and path.
 */
let app: TestApp
let tenant: TestTenant
/** The tenant with the token of the user Mine. */
let mine: TestTenant

async function createRows(name: string): Promise<void> {
  const create = factoriesFor(app, tenant)
  const label = (kind: string) => `${kind} of ${name}`
  await create.user({ id: `user_${name}`, name: label('User'), email: `${name}@example.com`, phone: label('Phone') })
  const account = { id: `account_${name}`, platformAccountId: label('Account'), displayName: label('Account') }
  await create.account(`user_${name}`, account)
  await create.profile({ ...account, platform: 'YOUTUBE' }, { id: `profile_${name}`, fullName: label('Profile') })
  await create.email(`profile_${name}`, { id: `email_${name}`, value: label('Email') })
}

async function createToken(userId: string): Promise<string> {
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
    { input: { userId, scopes: userScopes } },
  )
  return data.createAccessToken.accessToken
}

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant('Tenant')
  await createRows('Mine')
  await createRows('Theirs')
  await factoriesFor(app, tenant).job({ id: 'job_Theirs', payload: { of: 'Job of Theirs' } })
  mine = { ...tenant, token: await createToken('user_Mine') }
})
afterAll(() => app.close())

const kinds = ['user', 'account', 'profile', 'email', 'job']
const foreignIds = kinds.map((kind) => `${kind}_Theirs`)
const missingIds = foreignIds.map((id) => `${id}_nobody`)

async function theirRows() {
  const tables = ['"user"', 'account', 'profile', 'email_record', 'job', 'api_key']
  const rows = tables.map(
    (table) =>
      `SELECT '${table}', (to_jsonb(t) - 'last_used_at')::text FROM ${table} t WHERE t::text NOT LIKE '%Mine%'`,
  )
  return JSON.stringify(await app.database.prisma.$queryRawUnsafe(`${rows.join(' UNION ALL ')} ORDER BY 1, 2`))
}

const isTheirs = (text: string) => text.includes('Theirs')

/** A response to missing ids, with the foreign ids in their place. */
const asForeign = (response: unknown) => JSON.stringify(response).replaceAll('_nobody', '')

describe('GraphQL: a query field with an id argument', () => {
  const fields = rootFields('getQueryType').filter((field) => idArguments(field).length > 0)

  it.each(fields.map((field) => [field.name, field] as const))(
    '%s treats an id of another user as a missing id',
    async (name, field) => {
      const [{ name: argument, type }] = idArguments(field) as [GraphQLField<unknown, unknown>['args'][number]]
      const isList = isListType(getNullableType(type))
      const responses: unknown[] = []
      for (const selected of selections(getNamedType(field.type), 3)) {
        const query = `query ($id: ${type}) { ${name}(${argument}: $id) ${selected} }`
        const send = (id: string | readonly string[]) => app.graphql(mine, query, { id })
        if (isList) {
          expect(JSON.stringify(await send(foreignIds))).toBe(asForeign(await send(missingIds)))
          const response = await send(kinds.map((kind) => `${kind}_Mine`))
          expect(isTheirs(JSON.stringify(response))).toBe(false)
          responses.push(response.data)
        }
        // The deep selection of a type is read for the ids of that type. The others are sent below.
        const typename = /(?<=\.\.\. on )\w+/.exec(selected)?.[0] ?? getNamedType(field.type).name
        const kind = kinds.find((known) => typename.toLowerCase().startsWith(known)) ?? 'job'
        if (!isList) {
          const foreign = `${kind}_Theirs`
          expect(JSON.stringify(await send(foreign))).toBe(asForeign(await send(`${foreign}_nobody`)))
          const response = await send(`${kind}_Mine`)
          expect(isTheirs(JSON.stringify(response))).toBe(false)
          responses.push(response.data)
        }
      }
      if (!isList) {
        const parameters = foreignIds.map((_, index) => `$i${index}: ID!`).join(', ')
        const calls = foreignIds.map((_, index) => `n${index}: ${name}(${argument}: $i${index}) { __typename }`)
        const query = `query (${parameters}) { ${calls.join(' ')} }`
        const missing = await app.graphql(mine, query, inputsOf(missingIds))
        expect(JSON.stringify(await app.graphql(mine, query, inputsOf(foreignIds)))).toBe(asForeign(missing))
      }
      // Jobs, webhooks and keys belong to no user.
      if (!['job', 'webhook', 'apiKey'].includes(name)) expect(JSON.stringify(responses)).toContain('of Mine')
    },
  )
})

describe('GraphQL: a list', () => {
  const lists = rootFields('getQueryType').filter(({ args }) => args.some(({ name }) => name === 'first'))

  it.each(lists.map((field) => [field.name, field] as const))(
    '%s returns only rows of the user, at every level, for every filter and cursor',
    async (name, list) => {
      const connection = getNamedType(list.type)
      const { query, texts } = listCase(list, selection(connection, 1))
      const page = await app.graphql<Record<string, { edges: { cursor: string }[] }>>(
        tenant,
        `{ ${name} { edges { cursor } } }`,
      )
      const cursors = (page.data[name]?.edges ?? []).map(({ cursor }) => cursor)
      // What a row shows of its relations does not depend on how the list found it.
      const deep = listCase(list, selection(connection, 3)).query
      const requests = [
        [deep, {}],
        ...listVariables(texts, cursors).map((variables) => [query, variables] as const),
      ] as const
      for (const [text, variables] of requests) {
        const response = await app.graphql(mine, text, variables)
        expect(isTheirs(JSON.stringify(response))).toBe(false)
      }
    },
  )

  it('counts only the user', async () => {
    const { data } = await app.graphql(mine, '{ users { totalCount nodes { name } } }')
    expect(data['users']).toEqual({ totalCount: 1, nodes: [{ name: 'User of Mine' }] })
  })
})

describe('GraphQL: a mutation', () => {
  it.each(mutationCases({ leaseToken: 'x' }))(
    '$name treats an id of another user as a missing id, and changes no row of that user',
    async ({ queryOf, field, required }) => {
      const ids = [...foreignIds, tenant.keyId]
      const inputs = [...ids, 'nobody'].map((id) => ({ ...required, [field]: id }))
      const before = await theirRows()
      // One operation with all ids: its mutations run one after the other, each with a transaction of its own.
      const { data, errors } = await app.graphql(mine, queryOf(inputs.length), inputsOf(inputs))
      // The first error ends an operation: without the scope, each id needs one of its own.
      const results = errors
        ? await Promise.all(inputs.map((input) => app.graphql(mine, queryOf(1), inputsOf([input]))))
        : Object.values(data)
      expect(results).toHaveLength(inputs.length)
      for (const foreign of results.slice(0, -1)) expect(foreign).toEqual(results.at(-1))
      expect(await theirRows()).toBe(before)
    },
  )

  it('createUser is forbidden', async () => {
    const query =
      'mutation { createUser(input: { name: "New", email: "new@example.com", phone: "1" }) { user { id } } }'
    const { errors } = await app.graphql(mine, query)
    expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
    expect((await app.rest(mine, 'POST', '/users', { name: 'N', email: 'n@example.com', phone: '1' })).statusCode).toBe(
      403,
    )
    expect(await app.database.prisma.user.count()).toBe(2)
  })

  it.each(['cancelJobs', 'retryJobs'])('%s is forbidden', async (name) => {
    const before = await theirRows()
    const { errors } = await app.graphql(mine, `mutation { ${name}(input: { filter: {} }) { remainingCount } }`)
    expect(errors).toMatchObject([{ path: [name], extensions: { code: 'FORBIDDEN' } }])
    expect(await theirRows()).toBe(before)
  })

  it('of own rows is allowed', async () => {
    const sync =
      'mutation { syncProfile(input: { accountId: "account_Mine", username: "mine" }) { profile { username } } }'
    expect((await app.graphql(mine, sync)).data).toEqual({ syncProfile: { profile: { username: 'mine' } } })
    const rename =
      'mutation { updateAccount(input: { id: "account_Mine", displayName: "A of Mine" }) { account { displayName } } }'
    expect((await app.graphql(mine, rename)).data).toEqual({ updateAccount: { account: { displayName: 'A of Mine' } } })
    expect((await app.rest(mine, 'PUT', '/users/user_Mine', { phone: '2' })).json()).toMatchObject({ phone: '2' })
  })
})

describe('a relation', () => {
  it('shows nothing to another user, whatever row it starts from', async () => {
    const viewer: Viewer = {
      tenantAppId: tenant.tenantAppId,
      tenantName: '',
      keyId: '',
      keyName: '',
      scopes,
      userId: 'user_Theirs',
    }
    const { loaders } = createContext(app.services, { viewer, log: app.app.log, statements: { statements: 0 } })
    expect(await loaders.load(accountsOfUser, 'user_Mine')).toEqual([])
    expect(await loaders.load(profileOfAccount, 'account_Mine')).toBeNull()
    expect(await loaders.load(emailsOfProfile, 'profile_Mine')).toEqual([])
    expect(await loaders.load(emailsOfProfile, 'profile_Theirs')).toHaveLength(1)
    // A job belongs to no user.
    expect(await loaders.load(jobById, 'job_Theirs')).toBeNull()
  })
})

describe('REST', () => {
  const idsOfPaths = { '/users': 'user', '/accounts': 'account', '/fusion/profiles': 'account', '/fusion/jobs': 'job' }
  const places = routes.flatMap((route) => {
    const { method, url, parameters } = route
    const body = bodyOf(route, 'User of Mine')
    // A route runs an operation of GraphQL, for which ids of all types are tried above.
    const [, kind] = Object.entries(idsOfPaths).find(([start]) => url.startsWith(start)) ?? []
    return [
      ...(url.includes(':id') ? [{ kind, method, url, body, at: (id: string) => url.replace(':id', id) }] : []),
      ...(parameters.some(({ variable }) => variable === 'accountIds')
        ? [{ kind, method, url, body, at: (id: string) => `${url}?account_ids=${id}` }]
        : []),
    ]
  })

  // Some routes delete rows of the user.
  beforeAll(() => restoreRows())

  async function restoreRows() {
    await app.database.prisma.user.deleteMany({ where: { tenantAppId: tenant.tenantAppId, id: 'user_Mine' } })
    await createRows('Mine')
  }

  it.each(places)('treats an id of another user as a missing id: $method $url', async ({ kind, method, at, body }) => {
    const before = await theirRows()
    const send = async (id: string) => {
      const response = await app.rest(mine, method, at(id), body)
      return {
        status: response.statusCode,
        body: response.body.replaceAll(String(response.headers['x-request-id']), ''),
      }
    }
    const missing = await send('nobody')
    expect(kinds).toContain(kind)
    expect(await send(`${kind}_Theirs`)).toEqual(missing)
    const own = await send(`${kind}_Mine`)
    expect([own.status < 500, isTheirs(own.body)]).toEqual([true, false])
    expect(await theirRows()).toBe(before)
    if (method === 'DELETE') await restoreRows()
  })

  it('lists the user alone, with and without pages', async () => {
    for (const url of ['/users', '/users?limit=500']) {
      const { users } = (await app.rest(mine, 'GET', url)).json()
      expect(users).toMatchObject([{ id: 'user_Mine', accounts: [{ id: 'account_Mine' }] }])
      expect(users).toHaveLength(1)
    }
  })
})

it('deleteUser deletes the user of the token', async () => {
  const { data } = await app.graphql(mine, 'mutation { deleteUser(input: { id: "user_Mine" }) { deletedUserId } }')
  expect(data).toEqual({ deleteUser: { deletedUserId: 'user_Mine' } })
  expect((await app.graphql(mine, '{ viewer { user { id } } users { nodes { id } } }')).data).toEqual({
    viewer: { user: null },
    users: { nodes: [] },
  })
})
