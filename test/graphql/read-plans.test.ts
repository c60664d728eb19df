import type { Scope } from '@fusion-gateway/base'
import type { Branch } from '@fusion-gateway/prisma-trees'
import { oldestFirst } from '@fusion-gateway/prisma-trees'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountsOfUser } from '../../src/domain/account/account.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { seedTenant } from '../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant
let ids: { user: string; account: string; profile: string; email: string }

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  await seedTenant(app.database, { tenantAppId: tenant.tenantAppId, users: 30, seed: 7 })
  const { prisma } = app.database
  const email = await prisma.emailRecord.findFirstOrThrow({ include: { profile: { include: { account: true } } } })
  ids = {
    user: email.profile.account.userId,
    account: email.profile.accountId,
    profile: email.profileId,
    email: email.id,
  }
})
afterAll(() => app.close())

/** Runs a query, and counts its statements. */
async function run(query: string, variables: Record<string, unknown> = {}, viewer = tenant) {
  let response = { data: {} as unknown, errors: undefined as unknown }
  const statements = await app.statementsOf(async () => {
    response = await app.graphql(viewer, query, variables)
  })
  return { ...response, statements }
}

const tree = 'accounts { id platform user { name } profile { username emails { value profile { id } } } }'

/** The same data by one query per level, so without a plan. */
async function readByLevels(userId: string) {
  const { prisma } = app.database
  const byAge = { orderBy: [{ createdAt: 'asc' as const }, { id: 'asc' as const }] }
  const user = await prisma.user.findFirstOrThrow({
    where: { id: userId },
    include: { accounts: { ...byAge, include: { profile: { include: { emails: byAge } } } } },
  })
  return user.accounts.map(({ id, platform, profile }) => ({
    id,
    platform,
    user: { name: user.name },
    profile: profile && {
      username: profile.username,
      emails: profile.emails.map(({ value }) => ({ value, profile: { id: profile.id } })),
    },
  }))
}

describe('a root field and the relations below it are one statement', () => {
  it.each([
    ['user', (selection: string) => `{ user(id: "${ids.user}") { ${selection} } }`],
    ['a fragment', (selection: string) => `{ user(id: "${ids.user}") { ...Of } } fragment Of on User { ${selection} }`],
    ['node', (selection: string) => `{ user: node(id: "${ids.user}") { ... on User { ${selection} } } }`],
    ['an alias', (selection: string) => `{ user: user(id: "${ids.user}") { ${selection} } }`],
    [
      'two selections of a field',
      (selection: string) => `{ user(id: "${ids.user}") { id } user(id: "${ids.user}") { ${selection} } }`,
    ],
  ])('%s', async (_name, queryOf) => {
    for (let time = 0; time < 3; time += 1) {
      const { data, errors, statements } = await run(queryOf(tree))
      expect(errors).toBeUndefined()
      expect((data as { user: object }).user).toMatchObject({ accounts: await readByLevels(ids.user) })
      expect(statements).toHaveLength(1)
    }
  })

  it.each([
    ['account', () => `{ account(id: "${ids.account}") { user { name accounts { id } } profile { emails { id } } } }`],
    ['profiles', () => `{ profiles(accountIds: ["${ids.account}"]) { account { user { name } } emails { id } } }`],
    ['an email as a node', () => `{ node(id: "${ids.email}") { ... on EmailRecord { profile { account { id } } } } }`],
    ['users by edges', () => '{ users(last: 5) { edges { cursor node { accounts { id } } } pageInfo { endCursor } } }'],
    ['users with a filter', () => '{ users(filter: { nameContains: "a" }) { nodes { name accounts { id } } } }'],
  ])('%s', async (_name, query) => {
    const { errors, statements } = await run(query())
    expect(errors).toBeUndefined()
    expect(statements).toHaveLength(1)
  })

  it('nodes of several types: a statement for each', async () => {
    const query = `query ($ids: [ID!]!) {
      nodes(ids: $ids) { id ... on User { accounts { id } } ... on Account { user { id } } ... on Profile { emails { id } } } }`
    const { data, statements } = await run(query, { ids: [ids.user, ids.account, ids.profile] })
    expect((data as { nodes: { id: string }[] }).nodes.map(({ id }) => id)).toEqual([
      ids.user,
      ids.account,
      ids.profile,
    ])
    expect(statements).toHaveLength(3)
  })

  it('aliases of a root field that read the same share a statement', async () => {
    const other = await app.database.prisma.user.findFirstOrThrow({ where: { id: { not: ids.user } } })
    const query = `{ a: user(id: "${ids.user}") { accounts { id } } b: user(id: "${other.id}") { accounts { platform } } }`
    const { errors, statements } = await run(query)
    expect(errors).toBeUndefined()
    expect(statements).toHaveLength(1)
  })

  it('nodes with different selections: a statement for each tree, and one for each other type', async () => {
    const query =
      '{ a: node(id: "z") { ... on User { accounts { id } } } b: node(id: "z") { ... on User { accounts { user { id } } } } }'
    const { errors, statements } = await run(query)
    expect(errors).toBeUndefined()
    expect(statements).toHaveLength(2 + 4)
  })

  it('pages of every size share a statement', async () => {
    const texts = new Set<string>()
    for (const first of [1, 7, 30]) {
      const query =
        'query ($first: Int) { users(first: $first) { nodes { accounts { id } } pageInfo { hasNextPage } } }'
      const { data, statements } = await run(query, { first })
      const { nodes } = (data as { users: { nodes: { accounts: unknown[] }[] } }).users
      expect(nodes.map(({ accounts }) => accounts.length)).toEqual(Array.from({ length: first }, () => 3))
      for (const text of statements) texts.add(text)
    }
    expect(texts.size).toBe(1)
  })
})

describe('a plan reads only what the operation can show', () => {
  it('no relation of the extra row, which only shows that there is another page', async () => {
    const request = { where: {}, order: oldestFirst, direction: 'ASC', limit: 3 } as const
    const branches: Branch[] = [
      { parent: 'User', from: 'id', relation: accountsOfUser, fields: undefined, branches: [] },
    ]
    const { rows, levels } = await app.database.reads.list(
      app.database.sql,
      'User',
      { id: tenant.tenantAppId },
      request,
      { branches },
    )
    expect([rows.length, levels[0]?.rows.length, levels[0]?.keys.size]).toEqual([3, 2 * 3, 2])
  })

  it.each([
    ['back to the rows above', 'accounts { user { name } profile { account { id } emails { profile { id } } } }', 3],
    [
      'the same rows below them',
      'accounts { user { accounts { profile { emails { id } } } } profile { account { id } } }',
      3,
    ],
    ['other rows below them', 'accounts { id user { email jobs: accounts { id } accounts { profile { id } } } }', 2],
  ])('no row twice: %s', async (_name, selection, relations) => {
    const { data, errors, statements } = await run(`{ user(id: "${ids.user}") { ${selection} } }`)
    expect(errors).toBeUndefined()
    expect(statements).toHaveLength(1)
    expect(statements[0]?.match(/level_[1-9]\d* AS/g)).toHaveLength(relations)
    expect((data as { user: { accounts: unknown[] } }).user.accounts).toHaveLength(3)
  })

  it('the rows of a page and below it, for relations that lead back to them', async () => {
    const { data, errors, statements } = await run('{ users(first: 3) { nodes { id accounts { user { id name } } } } }')
    expect(errors).toBeUndefined()
    expect(statements).toHaveLength(1)
    const { nodes } = (data as { users: { nodes: { id: string; accounts: { user: { id: string } }[] }[] } }).users
    expect(nodes.map(({ accounts }) => accounts.map(({ user }) => user.id))).toEqual(
      nodes.map(({ id }) => [id, id, id]),
    )
  })

  it('no column that a variable excludes', async () => {
    const query = `query ($x: Boolean!) { user(id: "${ids.user}") { id phone @include(if: $x) } }`
    expect((await run(query, { x: true })).statements[0]).toContain('"phone"')
    expect((await run(query, { x: false })).statements[0]).not.toContain('"phone"')
  })

  it('the columns that are selected of each type', async () => {
    const { statements } = await run(`{ user(id: "${ids.user}") { accounts { platform profile { username } } } }`)
    expect(statements[0]).toContain('"username"')
    for (const column of ['name', 'phone', 'display_name', 'country'])
      expect(statements[0]).not.toContain(`"${column}"`)
  })

  it.each([
    [true, false, true],
    [false, false, false],
    [true, true, false],
    [false, true, false],
  ])('@include(if: %s) and @skip(if: %s): emails %s', async (isIncluded, isSkipped, isRead) => {
    const query = `query ($a: Boolean!, $b: Boolean!) { user(id: "${ids.user}") {
      accounts { profile @include(if: $a) { username ... @skip(if: $b) { emails { value } } } } } }`
    const { errors, statements } = await run(query, { a: isIncluded, b: isSkipped })
    expect(errors).toBeUndefined()
    expect(statements).toHaveLength(1)
    expect(statements[0]?.includes('email_record')).toBe(isRead)
  })

  it('nothing below a field whose scope the key lacks', async () => {
    const granted: Scope[] = ['users:read', 'profiles:read']
    const { key } = await createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'few', scopes: granted })
    const query = `{ user(id: "${ids.user}") { accounts { profile { username emails { value } } } } }`
    const { errors, statements } = await run(query, {}, { ...tenant, key })
    expect(errors).toMatchObject(
      [0, 1, 2].map((account) => ({ path: ['user', 'accounts', account, 'profile', 'emails'] })),
    )
    for (const text of statements) expect(text).not.toContain('email_record')
  })
})

describe('level by level, one statement per relation, are read', () => {
  it('payloads of mutations', async () => {
    const query = `mutation { updateUser(input: { id: "${ids.user}", name: "New" }) { user { accounts { profile { id } } } } }`
    const { errors, statements } = await run(query)
    expect(errors).toBeUndefined()
    expect(statements.filter((text) => /FROM "(account|profile)"/.test(text))).toHaveLength(2)
  })

  it('queries with more than 24 relations', async () => {
    const wide = 'a: accounts { user { id } profile { account { id } emails { id } } }'
    const deep = (depth: number): string =>
      depth === 0
        ? wide
        : `accounts { user { ${deep(depth - 1)} } profile { account { user { accounts { id } } } emails { id } } }`
    const { errors, statements } = await run(`{ user(id: "${ids.user}") { ${deep(3)} } }`)
    expect(errors).toBeUndefined()
    expect(statements.length).toBeGreaterThan(1)
  })

  it('root fields beyond 24 relations of an operation', async () => {
    const subsets = ['id', 'platform', 'displayName'].flatMap((field) => [
      `accounts { ${field} user { id } }`,
      `accounts { ${field} profile { id } }`,
      `accounts { ${field} user { id } profile { id } }`,
      `accounts { ${field} user { accounts { id } } }`,
      `accounts { ${field} user { accounts { profile { id } } } }`,
      `accounts { ${field} profile { emails { id } } }`,
      `accounts { ${field} profile { account { id } } }`,
      `accounts { ${field} profile { account { user { id } } } }`,
      `accounts { ${field} user { id } profile { emails { profile { id } } } }`,
    ])
    const fields = subsets.map((selection, index) => `n${index}: user(id: "${ids.user}") { ${selection} }`)
    const { errors, statements } = await run(`{ ${fields.join(' ')} }`)
    expect(errors).toBeUndefined()
    const planned = statements.filter((sql) => sql.startsWith('WITH level_0'))
    const byLevel = statements.filter((sql) => !planned.includes(sql))
    expect(planned).toHaveLength(8)
    // How many of the other rows the planned statements have read depends on which are answered first.
    expect(byLevel.length).toBeGreaterThan(0)
    expect(new Set(byLevel).size).toBe(byLevel.length)
  })

  it('queries with more than three variables in @skip and @include', async () => {
    const names = ['a', 'b', 'c', 'd']
    const fields = names.map((name) => `${name}: accounts @include(if: $${name}) { id }`)
    const query = `query (${names.map((name) => `$${name}: Boolean!`)}) { user(id: "${ids.user}") { ${fields.join(' ')} } }`
    const { errors, statements } = await run(query, Object.fromEntries(names.map((name) => [name, true])))
    expect(errors).toBeUndefined()
    expect(statements).toHaveLength(2)
  })
})

describe('a tree is one snapshot', () => {
  it('never shows a part of a concurrent change', async () => {
    const { prisma } = app.database
    const user = { tenantAppId: tenant.tenantAppId, id: 'torn' }
    await prisma.user.create({ data: { ...user, name: '0', email: 'a@b.c' } })
    const account = {
      tenantAppId: tenant.tenantAppId,
      id: 'torn',
      userId: 'torn',
      platform: 'X',
      platformAccountId: 'torn',
    }
    await prisma.account.createMany({ data: { ...account, displayName: '0' } })
    const write = (version: string) =>
      prisma.$transaction([
        prisma.user.updateMany({ where: user, data: { name: version } }),
        prisma.account.updateMany({ where: { id: 'torn' }, data: { displayName: version } }),
      ])
    const seen = new Set<string>()
    for (let version = 1; version <= 50; version += 1) {
      const query = '{ user(id: "torn") { name accounts { displayName } } }'
      const [, ...responses] = await Promise.all([
        write(String(version)),
        ...Array.from({ length: 4 }, () => run(query)),
      ])
      for (const { data } of responses) {
        const { name, accounts } = (data as { user: { name: string; accounts: { displayName: string }[] } }).user
        expect(accounts).toEqual([{ displayName: name }])
        seen.add(name)
      }
    }
    expect(seen.size).toBeGreaterThan(1)
  })
})
