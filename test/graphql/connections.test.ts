import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { runs } from '../support/runs.ts'

let app: TestApp
let tenant: TestTenant

/** Twelve users. Each two have the same creation time, so their order depends on the id. */
const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l']

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const create = factoriesFor(app, tenant)
  for (const [index, id] of ids.entries()) {
    await create.user({ id, name: `Name ${id} 50%_\\`, createdAt: new Date(1_700_000_000_000 + Math.floor(index / 2)) })
  }
})
afterAll(() => app.close())

interface Connection {
  readonly nodes: { id: string }[]
  readonly edges: { cursor: string; node: { id: string } }[]
  readonly totalCount: number
  readonly pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string }
}

const query = `query ($first: Int, $last: Int, $after: String, $before: String, $filter: UserFilter, $orderBy: UserOrder) {
  users(first: $first, last: $last, after: $after, before: $before, filter: $filter, orderBy: $orderBy) {
    nodes { id } edges { cursor node { id } } totalCount
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`

async function read(variables: Record<string, unknown>) {
  const { data, errors } = await app.graphql<{ users: Connection }>(tenant, query, variables)
  expect(errors).toBeUndefined()
  return data.users
}

async function cursors(): Promise<Map<string, string>> {
  const { edges } = await read({ first: 500 })
  return new Map(edges.map(({ cursor, node }) => [node.id, cursor]))
}

const order = (direction: 'ASC' | 'DESC') => ({ field: 'CREATED_AT', direction })

describe('a connection', () => {
  it('returns every window of the list as the Relay specification defines it', async () => {
    const cursorOf = await cursors()
    const position = fc.option(fc.constantFrom(...ids))
    const size = fc.integer({ min: 0, max: 14 })
    await fc.assert(
      fc.asyncProperty(
        position,
        position,
        size,
        fc.boolean(),
        fc.boolean(),
        async (after, before, n, fromBack, descending) => {
          const list = descending ? [...ids].reverse() : ids
          const start = after === null ? 0 : list.indexOf(after) + 1
          const end = before === null ? list.length : list.indexOf(before)
          const window = list.slice(start, Math.max(start, end))
          const page = fromBack ? window.slice(window.length - Math.min(n, window.length)) : window.slice(0, n)
          const users = await read({
            [fromBack ? 'last' : 'first']: n,
            after: after === null ? null : cursorOf.get(after),
            before: before === null ? null : cursorOf.get(before),
            orderBy: order(descending ? 'DESC' : 'ASC'),
          })
          expect(users.nodes.map(({ id }) => id)).toEqual(page)
          expect(users.edges.map(({ node }) => node.id)).toEqual(page)
          const [hasMoreBefore, hasMoreAfter] = [fromBack && window.length > n, !fromBack && window.length > n]
          expect(users.pageInfo.hasPreviousPage).toBe(hasMoreBefore || after !== null)
          expect(users.pageInfo.hasNextPage).toBe(hasMoreAfter || before !== null)
          expect(users.pageInfo.startCursor).toBe(users.edges[0]?.cursor ?? null)
          expect(users.pageInfo.endCursor).toBe(users.edges.at(-1)?.cursor ?? null)
        },
      ),
      { numRuns: runs(100) },
    )
  })

  it('has 20 nodes by default', async () => {
    const other = await app.createTenant()
    const create = factoriesFor(app, other)
    for (let index = 0; index < 21; index += 1) await create.user()
    const { data } = await app.graphql<{ users: Connection }>(
      other,
      '{ users { nodes { id } pageInfo { hasNextPage } } }',
    )
    expect(data.users.nodes).toHaveLength(20)
    expect(data.users.pageInfo.hasNextPage).toBe(true)
  })

  it.each([
    [{ first: -1 }, 'first'],
    [{ first: 501 }, 'first'],
    [{ last: -1 }, 'last'],
    [{ first: 1, last: 1 }, 'last'],
    [{ after: 'nonsense' }, 'after'],
    [{ before: Buffer.from('x y').toString('base64url') }, 'before'],
  ])('rejects %j', async (variables, field) => {
    const { data, errors } = await app.graphql(tenant, query, variables)
    expect(data).toEqual({ users: null })
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', fields: [{ field }] })
  })

  it('continues after a cursor whose row was deleted', async () => {
    const other = await app.createTenant()
    const create = factoriesFor(app, other)
    for (const id of ['x', 'y', 'z']) await create.user({ id })
    const { data } = await app.graphql<{ users: Connection }>(other, '{ users(first: 2) { pageInfo { endCursor } } }')
    await app.database.prisma.user.deleteMany({ where: { id: 'y' } })
    const after = data.users.pageInfo.endCursor
    const next = await app.graphql<{ users: Connection }>(other, query, { after })
    expect(next.data.users.nodes).toEqual([{ id: 'z' }])
  })

  it('counts the whole list, not the page', async () => {
    expect((await read({ first: 1 })).totalCount).toBe(12)
    expect((await read({ first: 1, filter: { nameContains: 'name c' } })).totalCount).toBe(1)
  })
})

describe('a filter', () => {
  it.each([
    [{ nameContains: 'NAME A' }, ['a']],
    [{ nameContains: '50%_\\' }, ids],
    [{ nameContains: '5_%' }, []],
    [{ email: 'nobody@example.com' }, []],
    [{ createdAfter: new Date(1_700_000_000_004).toISOString() }, ['k', 'l']],
    [{ createdBefore: new Date(1_700_000_000_001).toISOString() }, ['a', 'b']],
    [{ createdAfter: null, nameContains: null }, ids],
  ])('returns the matching rows: %j', async (filter, expected) => {
    expect((await read({ filter, first: 100 })).nodes.map(({ id }) => id)).toEqual(expected)
  })

  it('is refused instead of shown wrong if a statement has stored a time that responses cannot have', async () => {
    const other = await app.createTenant()
    await factoriesFor(app, other).user({ id: 'x' })
    for (const time of ['infinity', '-infinity', '10001-01-01', '0044-03-15 BC']) {
      await app.database.runAsOwner(
        `UPDATE "user" SET created_at = '${time}' WHERE tenant_app_id = '${other.tenantAppId}'`,
      )
      for (const field of ['users { nodes { createdAt } }', 'user(id: "x") { createdAt }']) {
        const { data, errors } = await app.graphql(other, `{ ${field} }`)
        expect(Object.values(data)).toEqual([null])
        expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL' } }])
      }
    }
  })

  it.each([
    { email: 'a\0' },
    { nameContains: 'a'.repeat(501) },
    { nameContains: '\ud800' },
    { createdAfter: '0000-01-01T00:00:00Z' },
    { createdBefore: '9999-12-31T23:59:59-12:00' },
    { createdBefore: 'yesterday' },
  ])('rejects a value that no row can have: %j', async (filter) => {
    const { errors } = await app.graphql(tenant, query, { filter })
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
  })
})
