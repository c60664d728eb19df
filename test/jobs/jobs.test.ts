import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const create = factoriesFor(app, tenant)
  for (const [index, id] of ['a', 'b', 'c', 'd'].entries()) {
    const createdAt = new Date(1_700_000_000_000 + Math.floor(index / 2))
    await create.job({
      id,
      createdAt,
      status: index === 3 ? 'FAILED' : 'PENDING',
      jobType: index === 0 ? null : `type ${index}`,
    })
  }
  const other = await app.createTenant()
  await factoriesFor(app, other).job({ id: 'theirs' })
})
afterAll(() => app.close())

const query = `query ($first: Int, $after: String, $filter: JobFilter, $orderBy: JobOrder) {
  jobs(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
    nodes { id } totalCount pageInfo { hasNextPage endCursor }
  }
}`

async function read(variables: Record<string, unknown>) {
  const { data, errors } = await app.graphql<{
    jobs: { nodes: { id: string }[]; totalCount: number; pageInfo: { hasNextPage: boolean; endCursor: string } }
  }>(tenant, query, variables)
  expect(errors).toBeUndefined()
  return { ...data.jobs, ids: data.jobs.nodes.map(({ id }) => id) }
}

describe('jobs', () => {
  it("are listed by page, oldest first, and only those of the viewer's tenant", async () => {
    const first = await read({ first: 3 })
    expect([first.ids, first.totalCount, first.pageInfo.hasNextPage]).toEqual([['a', 'b', 'c'], 4, true])
    const second = await read({ first: 3, after: first.pageInfo.endCursor })
    expect([second.ids, second.pageInfo.hasNextPage]).toEqual([['d'], false])
  })

  it.each([
    [{ filter: { status: 'FAILED' } }, ['d']],
    [{ filter: { jobType: 'type 1' } }, ['b']],
    [{ filter: { createdAfter: new Date(1_700_000_000_000).toISOString() } }, ['c', 'd']],
    [{ filter: { createdBefore: new Date(1_700_000_000_001).toISOString() } }, ['a', 'b']],
    [{ orderBy: { field: 'CREATED_AT', direction: 'DESC' } }, ['d', 'c', 'b', 'a']],
  ])('are filtered and ordered by %j', async (variables, ids) => {
    expect((await read(variables)).ids).toEqual(ids)
  })

  it('cost one statement per page, and two with the total count', async () => {
    expect(await app.statementsOf(() => app.graphql(tenant, '{ jobs { nodes { id payload } } }'))).toHaveLength(1)
    expect(await app.statementsOf(() => read({}))).toHaveLength(2)
  })
})
