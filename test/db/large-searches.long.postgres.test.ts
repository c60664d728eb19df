import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { createManyUsers, rareUser } from './large-tenant.ts'

const users = 1_000_000
const rare = rareUser(users)

let cluster: Cluster
let gateway: ListeningGateway
let key: string
let session: pg.Client

// The server logs the plans. It gathers no statistics by itself.
const serverSettings = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  autovacuum: 'off',
  max_wal_size: '4GB',
  fsync: 'off',
}

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster(serverSettings)
  const prepared = await prepare(cluster)
  key = prepared.key
  session = new pg.Client({ connectionString: cluster.adminUrl })
  await session.connect()
  await createManyUsers(session, prepared.tenantAppId, users)
  gateway = await listen(cluster.url)
}, 240_000)
afterAll(async () => {
  if (!canCreateClusters) return
  await gateway.close()
  await session.end()
  await cluster.remove()
})

const query = 'query ($filter: UserFilter) { users(first: 20, filter: $filter) { nodes { id } } }'

async function search(filter: object) {
  const before = cluster.readLog().length
  const startedAt = performance.now()
  const request = { method: 'POST', url: '/graphql', headers: { 'x-api-key': key } } as const
  const response = await gateway.app.inject({ ...request, payload: { query, variables: { filter } } })
  const milliseconds = performance.now() - startedAt
  const entries = cluster
    .readLog()
    .slice(before)
    .split(/^(?=\d{4}-)/m)
  const plan = entries.filter((entry) => /plan:/.test(entry) && / on "user"/.test(entry)).join('')
  return { milliseconds, plan, ids: response.json().data?.users.nodes.map(({ id }: { id: string }) => id) }
}

describe.skipIf(!canCreateClusters).each(['without statistics', 'with statistics'])(
  'of a million users, %s',
  (state) => {
    beforeAll(async () => {
      if (state === 'with statistics') await session.query('ANALYZE "user"')
    })

    it.each([
      ['a rare text', { search: 'zyxwvut' }, [`usr_${rare}`]],
      ['a rare text in names', { nameContains: 'ZYXWVUT' }, [`usr_${rare}`]],
      ['a missing text', { search: 'nobody has this' }, []],
      ['a frequent text', { search: 'example.com' }, 20],
      ['a frequent name', { nameContains: 'grace' }, 20],
      ['a letter', { search: 'a' }, 20],
    ])('%s is found within 100 ms', async (_, filter, expected) => {
      const searches = []
      for (let time = 0; time < 7; time += 1) searches.push(await search(filter))
      for (const { ids, plan } of searches) {
        if (typeof expected === 'number') expect(ids).toHaveLength(expected)
        else expect(ids).toEqual(expected)
        // The next rows of the list, and then either the index of texts or the rest of the list in its order.
        expect(plan).toMatch(/Index Scan using user_tenant_app_id_created_at_id_idx/)
        expect(plan).not.toMatch(/Seq Scan/)
        // The plan is for this text.
        expect(plan).toContain(`'%${Object.values(filter).join('').toLowerCase()}%'`)
        if (Array.isArray(expected)) expect(plan).toMatch(/Bitmap Index Scan on user_folded_search_idx/)
        if (Array.isArray(expected)) expect(plan).not.toMatch(/user_pkey/)
      }
      const times = searches.map(({ milliseconds }) => milliseconds).sort((one, other) => one - other)
      expect(times[3]).toBeLessThan(100)
    })
  },
)

it.skipIf(!canCreateClusters)(
  'a rare letter, which no index has, is refused as too expensive if it takes too long',
  async () => {
    const hasty = await listen(cluster.url, { pool: { statementMilliseconds: 300 } })
    const payload = { query, variables: { filter: { search: 'ß' } } }
    const response = await hasty.app.inject({ method: 'POST', url: '/graphql', headers: { 'x-api-key': key }, payload })
    expect(response.json().errors).toMatchObject([
      { message: expect.stringContaining('Search for a longer part'), extensions: { code: 'TOO_EXPENSIVE' } },
    ])
    await hasty.close()
  },
)
