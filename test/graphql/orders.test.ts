import fc from 'fast-check'
import { buildSchema, parse, printSchema, validate } from 'graphql'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { isSelected, type People } from '../differential/reference/people.ts'
import { orderTexts, type TextOrder } from '../differential/reference/tables.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { runs } from '../support/runs.ts'
import { createPeople, filters, sizeOf, storePeople } from './people.ts'

let app: TestApp
let tenant: TestTenant
let people: People
let order: TextOrder

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  people = createPeople(1)
  await storePeople(app, await app.createTenant(), createPeople(7))
  await storePeople(app, tenant, people)
  const texts = Object.values(people).flatMap((rows) =>
    rows.flatMap((row: { id: string; name?: string }) => [row.id, row.name]),
  )
  order = await orderTexts(app.database, new Set(texts.filter((text) => text !== undefined)))
})
afterAll(() => app.close())

type Kind = keyof People
type Row = People[Kind][number]

interface Order {
  readonly field: string
  readonly direction: 'ASC' | 'DESC'
}

const lists: Record<Kind, string> = { User: 'users', Account: 'accounts', Profile: 'searchProfiles' }

const placeOf = (text: string) => order.get(text) ?? Number.NaN

/** What a row is ordered by. Rows without a number come last in both directions. */
const keys: Readonly<Record<string, (row: never, direction: Order['direction']) => number>> = {
  CREATED_AT: ({ createdAt }: Row) => createdAt.getTime(),
  UPDATED_AT: ({ updatedAt }: Row) => updatedAt.getTime(),
  NAME: ({ name }: People['User'][number]) => placeOf(name),
  FOLLOWERS_COUNT: ({ followersCount }: People['Profile'][number], direction) =>
    followersCount ?? (direction === 'ASC' ? Infinity : -1),
}

const fieldsOf: Record<Kind, readonly string[]> = {
  User: ['CREATED_AT', 'UPDATED_AT', 'NAME'],
  Account: ['CREATED_AT', 'UPDATED_AT'],
  Profile: ['FOLLOWERS_COUNT', 'UPDATED_AT'],
}

/** The ids of rows in an order, by JavaScript. */
function sorted(rows: readonly Row[], [first, ...others]: readonly Order[]): string[] {
  const signOf = ({ direction }: Order) => (direction === 'ASC' ? 1 : -1)
  const compare = (one: Row, other: Row): number => {
    for (const given of first ? [first, ...others] : []) {
      const keyOf = keys[given.field] ?? (() => Number.NaN)
      const [a, b] = [keyOf(one as never, given.direction), keyOf(other as never, given.direction)]
      if (a !== b) return signOf(given) * (a < b ? -1 : 1)
    }
    return (first ? signOf(first) : 1) * (placeOf(one.id) - placeOf(other.id))
  }
  return rows.toSorted(compare).map(({ id }) => id)
}

interface Connection {
  readonly edges: readonly { readonly cursor: string; readonly node: { readonly id: string } }[]
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly startCursor: string | null
    readonly endCursor: string | null
  }
}

async function read(kind: Kind, variables: object) {
  const query = `query ($first: Int, $last: Int, $after: String, $before: String, $filter: ${kind}Filter, $orderBy: ${kind}Order,
    $thenBy: [${kind}Order!]) {
    list: ${lists[kind]}(first: $first, last: $last, after: $after, before: $before, filter: $filter, orderBy: $orderBy, thenBy: $thenBy) {
      edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`
  return app.graphql<{ list: Connection }>(tenant, query, JSON.parse(JSON.stringify(variables)))
}

const idsIn = ({ edges }: Connection) => edges.map(({ node }) => node.id)

describe.each(Object.keys(lists) as Kind[])('%s in a random order of several fields', (kind) => {
  const ordersOfKind = fc
    .shuffledSubarray([...fieldsOf[kind]], { minLength: 2 })
    .chain((fields) =>
      fc.tuple(
        ...fields.map((field) =>
          fc.record({ field: fc.constant(field), direction: fc.constantFrom('ASC' as const, 'DESC' as const) }),
        ),
      ),
    )
  const someFilters = fc.option(filters[kind].filter((filter) => sizeOf(filter) <= 20))

  it('is what JavaScript sorts, page by page, forwards and backwards', async () => {
    // Pages of one row are read once: they take as long as all other pages.
    const inAllFields = fieldsOf[kind].map((field) => ({ field, direction: 'ASC' as const }))
    let pages = 0
    await fc.assert(
      fc.asyncProperty(ordersOfKind, someFilters, fc.constantFrom<number>(2, 5, 500), async (orders, filter, size) => {
        const [orderBy, ...thenBy] = orders
        const rows = (people[kind] as Row[]).filter(
          (row) => filter === null || isSelected(people, kind, row as never, filter),
        )
        const expected = sorted(rows, orders)
        const given = { filter, orderBy, thenBy }
        const forwards: string[] = []
        for (let after: string | null = null, more = true; more; pages += 1) {
          const { data, errors }: Awaited<ReturnType<typeof read>> = await read(kind, { ...given, first: size, after })
          expect(errors).toBeUndefined()
          expect(data.list.pageInfo.hasPreviousPage).toBe(forwards.length > 0)
          forwards.push(...idsIn(data.list))
          after = data.list.pageInfo.endCursor
          more = data.list.pageInfo.hasNextPage
        }
        expect(forwards).toEqual(expected)
        const backwards: string[] = []
        for (let before: string | null = null, more = true; more; ) {
          const { data }: Awaited<ReturnType<typeof read>> = await read(kind, { ...given, last: size, before })
          expect(data.list.pageInfo.hasNextPage).toBe(backwards.length > 0)
          backwards.unshift(...idsIn(data.list))
          before = data.list.pageInfo.startCursor
          more = data.list.pageInfo.hasPreviousPage
        }
        expect(backwards).toEqual(expected)
      }),
      { numRuns: runs(25, 5), examples: [[inAllFields, null, 1]] },
    )
    expect(pages).toBeGreaterThan(runs(25, 5))
  })
})

describe('thenBy', () => {
  const byTime: Order = { field: 'CREATED_AT', direction: 'ASC' }
  const byName: Order = { field: 'NAME', direction: 'DESC' }

  it('follows the default order, and a single order is read as a list of one', async () => {
    const expected = sorted(people.User, [byTime, byName])
    const { data } = await read('User', { first: 500, thenBy: [byName] })
    expect(idsIn(data.list)).toEqual(expected)
    const literal = '{ list: users(first: 500, thenBy: { field: NAME, direction: DESC }) { edges { node { id } } } }'
    expect(idsIn((await app.graphql<{ list: Connection }>(tenant, literal)).data.list)).toEqual(expected)
  })

  it.each([[[]], [null], [[byTime]], [[{ ...byTime, direction: 'DESC' }, byTime]]])(
    '%j after an order of the same field changes nothing, and sends the same statement',
    async (thenBy) => {
      const statementOf = (variables: object) => app.statementsOf(() => read('User', { orderBy: byTime, ...variables }))
      const statements = await statementOf({ thenBy })
      expect(statements).toHaveLength(1)
      expect(statements).toEqual(await statementOf({}))
    },
  )

  it('makes cursors that other orders refuse, and refuses theirs', async () => {
    const cursorOf = async (given: object) => (await read('User', { ...given, first: 1 })).data.list.edges[0]?.cursor
    const [one, two] = [{ orderBy: byTime }, { orderBy: byTime, thenBy: [byName] }]
    const three = { orderBy: byName, thenBy: [byTime] }
    for (const from of [one, two, three]) {
      for (const to of [one, two, three]) {
        const { errors } = await read('User', { ...to, after: await cursorOf(from) })
        if (from === to) expect(errors).toBeUndefined()
        else expect(errors?.[0]?.message).toBe('Invalid input: after is a cursor of users in another order.')
      }
    }
    const forged = [
      '["users","createdAt","1","name","usr_1"]',
      '["users","createdAt","1","name","x","y","usr_1"]',
      '["users","createdAt","x","name","Ada","usr_1"]',
    ]
    for (const content of forged) {
      const { errors } = await read('User', { ...two, after: Buffer.from(content).toString('base64url') })
      expect(errors?.[0]?.message).toMatch(/^Invalid input: after is (not )?a cursor of users/)
    }
  })

  it('orders nested lists, and their pages', async () => {
    const query = `{ users { nodes { id
      accounts(orderBy: { field: UPDATED_AT, direction: DESC }, thenBy: [{ field: CREATED_AT, direction: ASC }]) { id }
      accountsConnection(last: 2, orderBy: { field: UPDATED_AT, direction: DESC }, thenBy: [{ field: CREATED_AT, direction: ASC }]) {
        nodes { id } } } } }`
    type Node = { id: string; accounts: { id: string }[]; accountsConnection: { nodes: { id: string }[] } }
    const statements = await app.statementsOf(async () => {
      const { data } = await app.graphql<{ users: { nodes: Node[] } }>(tenant, query)
      for (const { id, accounts, accountsConnection } of data.users.nodes) {
        const rows = people.Account.filter(({ userId }) => userId === id)
        const expected = sorted(rows, [
          { field: 'UPDATED_AT', direction: 'DESC' },
          { field: 'CREATED_AT', direction: 'ASC' },
        ])
        expect(accounts.map((account) => account.id)).toEqual(expected)
        expect(accountsConnection.nodes.map((account) => account.id)).toEqual(expected.slice(-2))
      }
    })
    expect(statements).toHaveLength(1)
  })

  it.each([
    ['users(first: 2, thenBy: [{ field: NAME, direction: ASC }])', 52, 1],
    ['users(first: 2, thenBy: { field: NAME, direction: ASC }, filter: { platform: "X" })', 52, 1],
    ['users(first: 2, orderBy: { field: NAME, direction: ASC })', 2, 0],
    ['users(first: 2, thenBy: [])', 2, 0],
  ])('%s costs %i points, and is a search %i times', async (field, points, times) => {
    const run = vi.spyOn(app.services.queues.searches, 'run')
    const query = `{ ${field} { nodes { id } } }`
    const response = await app.rest(tenant, 'POST', '/graphql', { query })
    expect([response.json().errors, response.headers['x-cost-requested']]).toEqual([undefined, String(points)])
    expect(run).toHaveBeenCalledTimes(times)
    run.mockRestore()
  })
})

it('the cursors of a list are the starts of its pages, as docs/graphql.md shows instead of page numbers', async () => {
  const orderBy = { field: 'NAME', direction: 'ASC' }
  const starts = (await read('User', { first: 500, orderBy })).data.list
  const size = 5
  const pages: string[][] = []
  for (let page = 0; page < Math.ceil(starts.edges.length / size); page += 1) {
    const after = starts.edges[size * page - 1]?.cursor ?? null
    pages.push(idsIn((await read('User', { first: size, after, orderBy })).data.list))
  }
  expect(pages.map(({ length }) => length)).toEqual([5, 5, 2])
  expect(pages.flat()).toEqual(idsIn(starts))
  const last = await read('User', { last: starts.edges.length % size, orderBy })
  expect(idsIn(last.data.list)).toEqual(pages.at(-1))
})

describe('a document with a variable of the type UserOrder', () => {
  const errorsOf = (schema: string, document: string) =>
    validate(buildSchema(schema), parse(document)).map(({ message }) => message)
  const printed = printSchema(schemas.schema)
  const document = 'query ($o: UserOrder) { users(orderBy: $o) { nodes { id } } }'

  it('is valid, and would not be if orderBy took a list', () => {
    expect(errorsOf(printed, document)).toEqual([])
    const withList = printed.replace(/orderBy: UserOrder\b/, 'orderBy: [UserOrder!]')
    expect(withList).not.toBe(printed)
    expect(errorsOf(withList, document)).toEqual([
      'Variable "$o" of type "UserOrder" used in position expecting type "[UserOrder!]".',
    ])
  })
})
