import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

// The ends of pages: what their cursors belong to, and whether rows are there beyond them.

let app: TestApp
let tenant: TestTenant
/** A tenant whose rows are deleted. */
let other: TestTenant

const ids = ['usr_a', 'usr_b', 'usr_c', 'usr_d']
const time = (day: number) => new Date(Date.UTC(2026, 0, day))

async function fill(of: TestTenant): Promise<void> {
  const create = factoriesFor(app, of)
  for (const [index, id] of ids.entries()) {
    const prefix = of === tenant ? '' : 'other_'
    await create.user({ id: `${prefix}${id}`, name: `Name ${id}`, createdAt: time(index + 1) })
  }
}

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  other = await app.createTenant()
  await fill(tenant)
  await fill(other)
})
afterAll(() => app.close())

interface Page {
  readonly nodes: readonly { readonly id: string }[]
  readonly totalCount?: number
  readonly edges: readonly { readonly cursor: string }[]
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly startCursor: string | null
    readonly endCursor: string | null
  }
}

async function page(of: TestTenant, list: string): Promise<Page> {
  const selection = 'nodes { id } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'
  const { data, errors } = await app.graphql<{ list: Page }>(of, `{ list: ${list} { ${selection} } }`)
  expect(errors).toBeUndefined()
  return data.list
}

async function messageOf(list: string): Promise<string | undefined> {
  const { errors } = await app.graphql(tenant, `{ list: ${list} { nodes { id } } }`)
  return errors?.[0]?.message
}

const cursorOf = (...values: string[]) => Buffer.from(JSON.stringify(values)).toString('base64url')

describe('a cursor', () => {
  it('is refused by another list', async () => {
    const { edges } = await page(tenant, 'users(first: 1)')
    const after = edges[0]?.cursor
    expect(await messageOf(`accounts(after: "${after}")`)).toBe('Invalid input: after is not a cursor of accounts.')
    expect(await messageOf(`jobs(before: "${after}")`)).toBe('Invalid input: before is not a cursor of jobs.')
    expect(await messageOf(`usage(after: "${after}")`)).toBe('Invalid input: after is not a cursor of usage.')
    expect(await messageOf(`events(after: "${after}")`)).toBe('Invalid input: after is not the id of an event.')
  })

  it('is refused in another order, and accepted in the other direction', async () => {
    const { edges } = await page(tenant, 'users(first: 2)')
    const after = edges[1]?.cursor
    expect(await messageOf(`users(after: "${after}", orderBy: { field: NAME, direction: ASC })`)).toBe(
      'Invalid input: after is a cursor of users in another order.',
    )
    const newestFirst = await page(tenant, `users(after: "${after}", orderBy: { field: CREATED_AT, direction: DESC })`)
    expect(newestFirst.nodes).toEqual([{ id: 'usr_a' }])
  })

  it('keeps its position when the filter changes', async () => {
    const { edges } = await page(tenant, 'users(first: 2)')
    const rest = await page(tenant, `users(after: "${edges[1]?.cursor}", filter: { ids: ["usr_a", "usr_d"] })`)
    expect(rest.nodes).toEqual([{ id: 'usr_d' }])
  })

  it('of version 0.1.0, which names no list, is still accepted', async () => {
    const byTime = Buffer.from(`${time(2).getTime()} usr_b`).toString('base64url')
    const byName = cursorOf('name', 'Name usr_b', 'usr_b')
    const rest = [{ id: 'usr_c' }, { id: 'usr_d' }]
    expect((await page(tenant, `users(after: "${byTime}")`)).nodes).toEqual(rest)
    const orderBy = 'orderBy: { field: NAME, direction: ASC }'
    expect((await page(tenant, `users(after: "${byName}", ${orderBy})`)).nodes).toEqual(rest)
  })

  it('of the deliveries of one webhook is refused by those of another', async () => {
    const create = factoriesFor(app, tenant)
    const [one, another] = [await create.webhook(), await create.webhook()]
    const after = cursorOf(`deliveries of ${one.id}`, 'createdAt', '1', 'whd_1')
    const query = `{ node(id: "${another.id}") { ... on Webhook { deliveries(after: "${after}") { nodes { status } } } } }`
    const { errors } = await app.graphql(tenant, query)
    expect(errors?.[0]?.message).toBe(`Invalid input: after is not a cursor of deliveries of ${another.id}.`)
  })
})

describe('hasNextPage and hasPreviousPage', () => {
  it('are true only if rows are there', async () => {
    const { edges } = await page(other, 'users')
    const [first, second, , last] = edges.map(({ cursor }) => cursor)
    const ends = async (list: string) => {
      const { hasPreviousPage, hasNextPage } = (await page(other, list)).pageInfo
      return [hasPreviousPage, hasNextPage]
    }
    expect(await ends(`users(first: 2, after: "${first}")`)).toEqual([true, true])
    expect(await ends(`users(first: 2, after: "${first}", before: "${last}")`)).toEqual([true, true])
    expect(await ends(`users(last: 1, before: "${last}")`)).toEqual([true, true])
    const newestFirst = 'orderBy: { field: CREATED_AT, direction: DESC }'
    expect(await ends(`users(first: 1, after: "${last}", ${newestFirst})`)).toEqual([true, true])
    expect(await ends(`users(first: 1, after: "${second}", ${newestFirst})`)).toEqual([true, false])

    await app.database.prisma.user.deleteMany({ where: { id: { in: ['other_usr_a', 'other_usr_d'] } } })
    expect(await ends(`users(first: 2, after: "${first}")`)).toEqual([false, false])
    expect(await ends(`users(last: 2, before: "${last}")`)).toEqual([false, false])
    expect(await ends(`users(after: "${last}")`)).toEqual([true, false])
    expect(await ends(`users(last: 2, before: "${first}")`)).toEqual([false, true])
    expect(await ends(`users(after: "${first}", filter: { ids: [] })`)).toEqual([false, false])
    expect(await ends(`users(first: 1, after: "${last}", ${newestFirst})`)).toEqual([false, true])
  })

  it('are one statement more, and only if the page has a cursor and the field is selected', async () => {
    const { edges } = await page(tenant, 'users(first: 2)')
    const after = edges[1]?.cursor
    const statementsOf = async (query: string) => (await app.statementsOf(() => app.graphql(tenant, query))).length
    expect(await statementsOf('{ users { nodes { id } pageInfo { hasNextPage hasPreviousPage } } }')).toBe(1)
    expect(await statementsOf(`{ users(after: "${after}") { nodes { id } pageInfo { hasNextPage } } }`)).toBe(1)
    expect(await statementsOf(`{ users(after: "${after}") { pageInfo { hasNextPage hasPreviousPage } } }`)).toBe(2)
  })

  it('of events and usage are true only if rows are there', async () => {
    const eventsOf = async () => (await page(other, 'events')).nodes
    // An event is listed when the transactions are over that began before its own, those of other databases of the
    // server too.
    await expect.poll(async () => (await eventsOf()).length).toBeGreaterThan(2)
    const events = await eventsOf()
    const [first, last] = [events[0]?.id, events.at(-1)?.id]
    const ends = async (list: string) => {
      const { hasPreviousPage, hasNextPage } = (await page(other, list)).pageInfo
      return [hasPreviousPage, hasNextPage]
    }
    expect(await ends(`events(first: 1, after: "${first}")`)).toEqual([true, true])
    expect(await ends(`events(after: "${first}", filter: { types: [JOB_CREATED] })`)).toEqual([false, false])
    expect(await ends(`events(last: 1, before: "${last}")`)).toEqual([true, true])
    expect(await ends('usage(first: 1, after: "use_20200101000000000000000000000000")')).toEqual([false, false])
  })
})

describe('a page of no rows', () => {
  it.each(['first: 0', 'last: 0'])('has the count and the ends of the list: %s', async (size) => {
    const query = `{ users(${size}) { nodes { id accounts { id } } totalCount pageInfo { hasNextPage hasPreviousPage startCursor } } }`
    const { data } = await app.graphql<{ users: Page }>(tenant, query)
    expect(data.users).toEqual({
      nodes: [],
      totalCount: 4,
      pageInfo: { hasNextPage: size === 'first: 0', hasPreviousPage: size === 'last: 0', startCursor: null },
    })
  })

  it.each(['accounts', 'jobs', 'searchProfiles', 'events', 'usage'])('%s has one', async (list) => {
    expect((await page(tenant, `${list}(first: 0)`)).nodes).toEqual([])
  })
})
