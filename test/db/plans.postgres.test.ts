import { deployMigrations } from '@fusion-gateway/migrate'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { countJobs } from '../../src/domain/job/store/job-counts.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen } from '../support/gateway.ts'

let cluster: Cluster
let gateway: ListeningGateway
let admin: pg.Client
let key: string
/** The key of a tenant with 1,000 users. */
let smallKey: string

// The server logs the plan of every statement.
const explain = { session_preload_libraries: 'auto_explain', 'auto_explain.log_min_duration': '0', jit: 'off' }

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster(explain)
  admin = new pg.Client({ connectionString: cluster.adminUrl })
  await admin.connect()
  gateway = await listen(cluster.ownerUrl, { introspection: false })
  const { database } = gateway
  await deployMigrations(database)
  // Plans do not depend on values, so they are made for a tenant of average size.
  const tenants: { id: string }[] = []
  for (let number = 1; number <= 20; number += 1) tenants.push(await createTenant(database, `Tenant ${number}`))
  await createRows(tenants.map(({ id }, index) => [id, index === 0 ? 100_000 : 1_000]))
  const keyOf = async (tenant = tenants[0]) =>
    (await createKey(database, { tenantAppId: tenant?.id ?? '', name: 'k' })).key
  key = await keyOf()
  smallKey = await keyOf(tenants[1])
})
afterAll(async () => {
  if (!canCreateClusters) return
  await gateway.close()
  await admin.end()
  await cluster.remove()
})

/** Creates users with an account, a profile and an email each, and a job for every fifth, for each tenant. */
async function createRows(tenants: [string, number][]): Promise<void> {
  // Not through the gateway, which limits how long a statement takes.
  const session = new pg.Client({ connectionString: cluster.adminUrl })
  await session.connect()
  // Without the triggers, which would write half a million events.
  await session.query('SET session_replication_role = replica')
  for (const [tenant, users] of tenants) await session.query(rowsOf(tenant, users))
  await session.query('VACUUM ANALYZE')
  await session.end()
}

function rowsOf(tenant: string, users: number): string {
  const times = `to_timestamp(number), to_timestamp(number) FROM generate_series(1, ${users}) AS number`
  return `
    INSERT INTO "user" (tenant_app_id, id, name, email, external_id, metadata, created_at, updated_at)
    SELECT '${tenant}', 'usr_' || number, 'Name ' || number, number || '@example.com', 'ext_' || number,
      json_build_object('plan', (CASE WHEN number % 1000 = 0 THEN 'rare' ELSE 'free' END), 'number', number), ${times};
    INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, status, created_at, updated_at)
    SELECT '${tenant}', 'acc_' || number, 'usr_' || number, (CASE WHEN number % 100 = 0 THEN 'RARE' ELSE 'YOUTUBE' END), number::text,
      'Display ' || number, (CASE WHEN number % 100 = 0 THEN 'EXPIRED' ELSE 'CONNECTED' END)::account_status, ${times};
    INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, username, full_name, followers_count, country, category,
      verified, created_at, updated_at)
    SELECT '${tenant}', 'prf_' || number, 'acc_' || number, (CASE WHEN number % 100 = 0 THEN 'RARE' ELSE 'YOUTUBE' END), number::text,
      'user' || number, 'Full ' || number, nullif(number % 5000, 0), 'C' || number % 200, 'Category ' || number % 300, number % 200 = 0,
      ${times};
    INSERT INTO profile_metric (tenant_app_id, profile_id, day, followers_count)
    SELECT '${tenant}', 'prf_' || number, (now() AT TIME ZONE 'UTC')::date - 20 * week, number
    FROM generate_series(1, ${users}) AS number, generate_series(1, 5) AS week;
    INSERT INTO email_record (tenant_app_id, id, profile_id, value, created_at, updated_at)
    SELECT '${tenant}', 'eml_' || number, 'prf_' || number, number || '@example.com', ${times};
    INSERT INTO event (tenant_app_id, id, type, resource_id, created_at)
    SELECT '${tenant}', 'evt_' || lpad(to_hex(number), 24, '0'), 'USER_CREATED', 'usr_' || number, to_timestamp(number)
    FROM generate_series(1, ${users}) AS number;
    INSERT INTO job (tenant_app_id, id, job_type, status, updated_at, run_at)
    SELECT '${tenant}', 'job_' || number, 'type_' || number % 5,
      (CASE number % 100 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'FAILED' ELSE 'SUCCEEDED' END)::job_status, now(), now()
    FROM generate_series(1, ${users / 5}) AS number;`
}

const busySessions = `
  SELECT FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()`

/**
 * The plans of the statements that a request sends, without those that look up the key, set up a new session, or fold
 * the text of a search.
 */
async function plansOf(query: string, variables: Record<string, unknown> = {}, as = key) {
  const before = cluster.readLog().length
  const response = await gateway.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': as },
    payload: { query, variables },
  })
  // A session writes the plan of a statement after it has sent its rows.
  await expect.poll(async () => (await admin.query(busySessions)).rows).toEqual([])
  const log = cluster.readLog().slice(before)
  const plans = log
    .split(/^(?=\d{4}-)/m)
    .filter(
      (entry) =>
        /plan:.* Scan /s.test(entry) &&
        !/FROM api_key|api_key k|UPDATE api_key|server_encoding|pg_stat_activity/.test(entry),
    )
  return { data: response.json().data, plans }
}

interface Page {
  readonly pageInfo: { readonly endCursor: string }
}

describe.skipIf(!canCreateClusters)('on large tables, PostgreSQL uses the indexes for', () => {
  it.each(['ASC', 'DESC'])('a late page of users, %s', async (direction) => {
    const query = `query ($first: Int!, $after: String) { users(first: $first, after: $after, orderBy: { field: CREATED_AT, direction: ${direction} }) { pageInfo { endCursor } nodes { id } } }`
    let after: string | undefined
    for (let page = 0; page < 3; page += 1) {
      const { data } = await plansOf(query, { first: 500, after })
      after = (data as { users: Page }).users.pageInfo.endCursor
    }
    const { plans } = await plansOf(query, { first: 20, after })
    expect(plans).toHaveLength(1)
    expect(plans[0]).toMatch(/Index (Only )?Scan (Backward )?using user_tenant_app_id_created_at_id_idx/)
    expect(plans[0]).not.toMatch(/Seq Scan|Sort Key/)
  })

  it.each([
    '{ users(first: 20) { nodes { accounts { profile { emails { value } } } } } }',
    '{ users(first: 500) { nodes { accounts { user { name } profile { account { id } } } } } }',
    '{ users(last: 20, filter: { createdAfter: "1970-01-02T00:00:00Z" }) { nodes { name accounts { id } } } }',
    '{ user(id: "usr_7") { accounts { profile { emails { profile { id } } } } } }',
    '{ account(id: "acc_7") { user { name } profile { username } } }',
    '{ userByExternalId(externalId: "ext_7") { name accounts { id } } }',
    '{ profiles(accountIds: ["acc_7", "acc_8"]) { emails { value } account { user { name } } } }',
    '{ node(id: "prf_7") { ... on Profile { account { user { accounts { id } } } } } }',
    '{ users(first: 500) { nodes { accounts(first: 3) { profile { emails(first: 1) { value } } } } } }',
    '{ users(first: 500) { nodes { accounts(first: 3, orderBy: { field: UPDATED_AT, direction: DESC }) { id } } } }',
    '{ users(first: 500) { nodes { accounts(filter: { platform: "RARE", search: "a", hasProfile: true, user: { email: "x" } }) { id } } } }',
    '{ user(id: "usr_7") { accountsConnection(last: 20) { nodes { id } } accounts(filter: { not: { status: EXPIRED } }) { id } } }',
  ])('the tree %s', async (query) => {
    const { plans } = await plansOf(query)
    expect(plans).toHaveLength(1)
    expect(plans[0]).toMatch(/Index Scan/)
    expect(plans[0]).not.toMatch(/Seq Scan|Hash Join|Bitmap/)
  })

  it('the histories of a tree, of their rows alone', async () => {
    const query = `{ users(first: 60) { nodes { accounts { profile { history(metric: FOLLOWERS) { value } growth(metric: FOLLOWERS) } } } } }`
    const { plans, data } = await plansOf(query)
    expect(plans).toHaveLength(1)
    const [plan = ''] = plans
    expect(plan.match(/Index Scan (Backward )?using profile_metric_pkey/g)).toHaveLength(3)
    expect(plan).not.toMatch(/Seq Scan|Hash Join|Bitmap|profile_metric_tenant_app_id_day_idx/)
    const { users } = data as { users: { nodes: { accounts: { profile: { history: unknown[] } }[] }[] } }
    expect(users.nodes.map(({ accounts: [account] }) => account?.profile.history.length)).toContain(4)
  })

  const orders = ['users UPDATED_AT', 'users NAME', 'accounts CREATED_AT', 'accounts UPDATED_AT']
  it.each(
    [...orders, 'searchProfiles FOLLOWERS_COUNT', 'searchProfiles UPDATED_AT'].flatMap((order) => [
      `${order} ASC`,
      `${order} DESC`,
    ]),
  )('the order %s, from the start, from a cursor, and from the end', async (order) => {
    const [list, field, direction] = order.split(' ')
    const query = `query ($first: Int, $last: Int, $after: String) {
      list: ${list}(first: $first, last: $last, after: $after, orderBy: { field: ${field}, direction: ${direction} }) { pageInfo { endCursor } } }`
    const first = await plansOf(query, { first: 100 })
    const after = (first.data as { list: Page }).list.pageInfo.endCursor
    const others = [await plansOf(query, { first: 100, after }), await plansOf(query, { last: 100 })]
    for (const plan of [first, ...others].flatMap(({ plans }) => plans)) {
      expect(plan).toMatch(/Index (Only )?Scan (Backward )?using/)
      expect(plan).not.toMatch(/Seq Scan|Sort Key|Bitmap/)
    }
  })

  it('the counts of nested lists', async () => {
    const { plans } = await plansOf('{ users(first: 500) { nodes { accountsConnection { totalCount } } } }')
    const counts = plans.filter((plan) => /SELECT "user_id", count/.test(plan))
    expect(counts).toHaveLength(1)
    expect(counts[0]).toMatch(/Index (Only )?Scan using account_tenant_app_id_user_id_idx/)
  })

  it.each([
    ['users', 'NAME ASC', 'CREATED_AT DESC', 'user_name_idx'],
    ['users', 'CREATED_AT DESC', 'NAME DESC', 'user_tenant_app_id_created_at_id_idx'],
    ['accounts', 'UPDATED_AT ASC', 'CREATED_AT ASC', 'account_tenant_app_id_updated_at_id_idx'],
    ['searchProfiles', 'FOLLOWERS_COUNT DESC', 'UPDATED_AT ASC', 'profile_followers_descending_idx'],
    ['searchProfiles', 'FOLLOWERS_COUNT ASC', 'UPDATED_AT ASC', 'profile_followers_ascending_idx'],
  ])('the order of %s by %s and then %s: the first field, and ties are sorted', async (list, first, second, index) => {
    const [orderBy, thenBy] = [first, second].map((order) => {
      const [field, direction] = order.split(' ')
      return { field, direction }
    })
    const type = { users: 'User', accounts: 'Account', searchProfiles: 'Profile' }[list]
    const query = `query ($first: Int, $last: Int, $after: String, $orderBy: ${type}Order, $thenBy: [${type}Order!]) {
      list: ${list}(first: $first, last: $last, after: $after, orderBy: $orderBy, thenBy: $thenBy) { pageInfo { endCursor } } }`
    const page = await plansOf(query, { first: 100, orderBy, thenBy })
    const after = (page.data as { list: Page }).list.pageInfo.endCursor
    const others = [
      await plansOf(query, { first: 100, after, orderBy, thenBy }),
      await plansOf(query, { last: 100, orderBy, thenBy }),
    ]
    for (const plan of [page, ...others].flatMap(({ plans }) => plans)) {
      expect(plan).toMatch(/Incremental Sort/)
      expect(plan).toMatch(new RegExp(`Index Scan (Backward )?using ${index}`))
      expect(plan).not.toMatch(/Seq Scan|Bitmap/)
    }
  })

  it.each([
    ['users', 'search: "Name 4711"', 'user_folded_search_idx'],
    ['users', 'search: "4711@example"', 'user_folded_search_idx'],
    ['users', 'nameContains: "ame 4711"', 'user_folded_search_idx'],
    ['users', 'email: "4711@example.com"', 'user_email_idx'],
    ['users', 'externalIds: ["ext_7", "ext_8"]', 'user_tenant_app_id_external_id_key'],
    ['users', 'metadata: [{ key: "plan", value: "rare" }]', 'user_metadata_idx'],
    ['users', 'metadata: [{ key: "number", value: 4711 }, { key: "plan", value: "free" }]', 'user_metadata_idx'],
    ['users', 'platform: "RARE"', 'account_tenant_app_id_platform_user_id_idx'],
    ['users', 'updatedAfter: "1970-01-02T03:00:00Z"', 'user_tenant_app_id_updated_at_id_idx'],
    ['users', 'updatedBefore: "1970-01-01T00:10:00Z"', 'user_tenant_app_id_updated_at_id_idx'],
    ['accounts', 'platform: "RARE"', 'account_tenant_app_id_platform'],
    ['accounts', 'userId: "usr_7"', 'account_tenant_app_id_user_id_idx'],
    ['accounts', 'status: EXPIRED', 'account_tenant_app_id_status_created_at_id_idx'],
    ['accounts', 'search: "isplay 4711"', 'account_folded_search_idx'],
    ['accounts', 'updatedAfter: "1970-01-02T03:40:00Z"', 'account_tenant_app_id_updated_at_id_idx'],
    ['searchProfiles', 'platform: "RARE"', 'profile_tenant_app_id_platform_idx'],
    ['searchProfiles', 'country: "C7"', 'profile_country_idx'],
    ['searchProfiles', 'category: "Category 7"', 'profile_category_idx'],
    ['searchProfiles', 'search: "user4711"', 'profile_folded_search_idx'],
    ['searchProfiles', 'verified: true', 'profile_tenant_app_id_verified_idx'],
    ['searchProfiles', 'followersMin: 4990', 'profile_followers_descending_idx'],
    ['searchProfiles', 'followersMax: 10', 'profile_followers_ascending_idx'],
    ['searchProfiles', 'updatedAfter: "1970-01-02T03:40:00Z"', 'profile_tenant_app_id_updated_at_id_idx'],
    ['jobs', 'status: PENDING', 'job_'],
  ])('the count of %s with %s', async (list, filter, index) => {
    const { plans } = await plansOf(`{ ${list}(filter: { ${filter} }) { totalCount } }`)
    const counts = plans.filter((plan) => /SELECT count\(\*\) FROM "/.test(plan))
    expect(counts).toHaveLength(1)
    expect(counts[0]).toContain(index)
    for (const plan of plans) expect(plan).not.toMatch(/Seq Scan/)
  })

  it.each([
    ['users', 'ids: ["usr_7", "usr_8"]', /user_pkey/],
    ['users', 'or: [{ ids: ["usr_7"] }, { email: "4711@example.com" }]', /BitmapOr.*user_pkey.*user_email_idx/s],
    [
      'users',
      'or: [{ search: "Name 4711" }, { nameContains: "Name 4712" }]',
      /BitmapOr.*user_folded_search_idx.*user_folded_search_idx/s,
    ],
    ['users', 'externalIds: ["ext_7", "ext_8"]', /user_tenant_app_id_external_id_key/],
    ['users', 'metadata: [{ key: "plan", value: "rare" }]', /user_metadata_idx/],
    // The search of the console.
    [
      'users',
      'or: [{ search: "ext_4711" }, { externalIds: ["ext_4711"] }]',
      /BitmapOr.*user_folded_search_idx.*external_id_key/s,
    ],
    ['accounts', 'user: { metadata: [{ key: "number", value: 4711 }] }', /user_metadata_idx/],
    ['users', 'platforms: ["RARE"]', /account_tenant_app_id_platform_user_id_idx/],
    ['users', 'account: { platform: "RARE" }', /account_tenant_app_id_platform_user_id_idx/],
    ['users', 'account: { profile: { countries: ["C7"] } }', /profile_country_idx/],
    ['accounts', 'platforms: ["RARE"]', /account_tenant_app_id_platform/],
    ['accounts', 'statuses: [EXPIRED]', /account_tenant_app_id_status_created_at_id_idx/],
    ['jobs', 'ids: ["job_7", "job_8"]', /job_pkey/],
    ['jobs', 'statuses: [PENDING, FAILED]', /job_/],
    ['jobs', 'jobTypes: ["nothing"], statuses: [PENDING]', /job_/],
    ['jobs', 'or: [{ ids: ["job_7"] }, { status: PENDING }]', /job_/],
    ['accounts', 'user: { email: "4711@example.com" }', /user_email_idx.*account_tenant_app_id_user_id_idx/s],
    ['accounts', 'profile: { search: "user4711" }', /profile_folded_search_idx.*account_pkey/s],
    ['searchProfiles', 'countries: ["C7", "C8"]', /profile_country_idx/],
    ['searchProfiles', 'categories: ["Category 7"]', /profile_category_idx/],
    ['searchProfiles', 'countryIsNull: true', /profile_country_idx/],
    ['searchProfiles', 'categoryIsNull: true', /profile_category_idx/],
    ['searchProfiles', 'verifiedIsNull: true', /profile_tenant_app_id_verified_idx/],
    [
      'searchProfiles',
      'or: [{ country: "C7" }, { categories: ["Category 7"] }]',
      /BitmapOr.*profile_country_idx.*profile_category_idx/s,
    ],
    [
      'searchProfiles',
      'account: { user: { ids: ["usr_7"] } }',
      /user_pkey.*account_tenant_app_id_user_id_idx.*profile_tenant_app_id_account_id_key/s,
    ],
  ])('the list and the count of %s with %s', async (list, filter, indexes) => {
    const { plans } = await plansOf(`{ ${list}(first: 20, filter: { ${filter} }) { totalCount nodes { id } } }`)
    expect(plans).toHaveLength(2)
    expect(plans.find((plan) => plan.includes('SELECT count(*) FROM "'))).toMatch(indexes)
    for (const plan of plans) expect(plan).not.toMatch(/Seq Scan/)
  })

  it('the events of a time', async () => {
    const filter = 'createdAfter: "1970-01-01T10:00:00Z", createdBefore: "1970-01-01T10:01:00Z"'
    const { plans } = await plansOf(`{ events(first: 20, filter: { ${filter} }) { nodes { id } } }`)
    expect(plans).toHaveLength(1)
    expect(plans[0]).toMatch(/event_tenant_app_id_created_at_idx/)
    expect(plans[0]).not.toMatch(/Seq Scan on event\s/)
  })

  it.each([
    ['users', 'not: { platform: "RARE" }'],
    ['users', 'or: [{ email: "4711@example.com" }, { account: { status: EXPIRED } }]'],
    ['accounts', 'or: [{ status: EXPIRED }, { not: { profile: {} } }]'],
    ['searchProfiles', 'not: { account: { user: { search: "4711" } } }'],
    ['users', 'account: { statuses: [EXPIRED] }'],
    ['users', 'phoneIsNull: true'],
    ['users', 'hasAccounts: false'],
    ['accounts', 'hasProfile: false'],
    ['searchProfiles', 'urlIsNull: true'],
  ])("the order of the tenant's rows, of which it reads all to count them: %s with %s", async (list, filter) => {
    const { plans } = await plansOf(`{ ${list}(first: 20, filter: { ${filter} }) { totalCount nodes { id } } }`)
    expect(plans).toHaveLength(2)
    for (const plan of plans) {
      expect(plan).toMatch(
        / on ("user"|account|profile) {2}.*\n\s+(Index|Recheck) Cond: \(tenant_app_id = (\$1|'[\w-]+'::text)\)\n/,
      )
      // Related rows are never kept in memory, where a large tenant would have too many.
      expect(plan).not.toMatch(/Seq Scan|hashed SubPlan/)
    }
    expect(plans.find((plan) => !plan.includes('SELECT count(*) FROM "'))).not.toMatch(/Sort Key/)
  })

  it.each(['Name 4711', 'a', 'nobody has this name'])('the search for %j, also when it is repeated', async (search) => {
    const query = 'query ($search: String) { users(first: 20, filter: { search: $search }) { nodes { id } } }'
    for (let time = 0; time < 8; time += 1) {
      const { plans } = await plansOf(query, { search })
      expect(plans).toHaveLength(1)
      expect(plans[0]).not.toMatch(/Seq Scan/)
    }
  })

  it('tenantStats', async () => {
    const { plans } = await plansOf(
      '{ tenantStats { users accounts profiles accountsByPlatform { count } jobsByStatus { count } } }',
    )
    expect(plans).toHaveLength(5)
    for (const plan of plans) expect(plan).toMatch(/Index Only Scan/)
  })

  it.each([
    ['{ userStats { count platforms { value count } statuses { status count } } }', ['"user"', 'account']],
    ['{ userStats(filter: { createdBefore: "1970-01-01T00:00:09Z" }) { count platforms { count } } }', ['"user"']],
    ['{ profileStats { count platforms { count } countries { count } followers { sum p50 } } }', ['profile']],
    ['{ profileStats(filter: { country: "C7" }) { count categories { count } statuses { count } } }', ['profile']],
  ])('statistics, of which each part reads the rows that the filter has selected: %s', async (query, tables) => {
    const { plans, data } = await plansOf(query, {}, smallKey)
    expect(data).toMatchObject({
      [query.includes('user') ? 'userStats' : 'profileStats']: { count: expect.any(Number) },
    })
    expect(plans).toHaveLength(1)
    // Of a tenant that has most of a table, all of it is read.
    for (const table of tables) expect(plans[0]).not.toMatch(new RegExp(`Seq Scan on ${table}`))
    expect(plans[0]).toMatch(/CTE selected/)
    expect(plans[0]?.match(/CTE Scan on selected/g)?.length).toBeGreaterThan(1)
  })

  it('estimates of the length of a list', async () => {
    const { data } = await plansOf('{ users(first: 0) { totalCountEstimate } }')
    const { users } = data as { users: { totalCountEstimate: number } }
    expect(users.totalCountEstimate).toBeGreaterThan(50_000)
    expect(users.totalCountEstimate).toBeLessThan(200_000)
  })

  it.each(['{ jobs(first: 20) { nodes { id } } }', '{ job(id: "job_7") { status } }', '{ node(id: "job_7") { id } }'])(
    '%s',
    async (query) => {
      const { plans } = await plansOf(query)
      expect(plans.length).toBeGreaterThan(0)
      for (const plan of plans) expect(plan).not.toMatch(/Seq Scan/)
    },
  )

  it.each([
    ['cancelJobs', 'filter: {}'],
    ['cancelJobs', 'filter: { jobType: "type_0", createdBefore: "2100-01-01T00:00:00Z" }, limit: 3'],
    ['retryJobs', 'filter: { status: FAILED }, limit: 5'],
  ])('%s with %s', async (name, input) => {
    // Again with plans that do not depend on the parameters.
    for (let time = 0; time < 8; time += 1) {
      const { data, plans } = await plansOf(`mutation { ${name}(input: { ${input} }) { remainingCount } }`)
      expect(data).toMatchObject({ [name]: { remainingCount: expect.any(Number) } })
      const [change, count] = ['UPDATE job', 'SELECT count'].map((text) => plans.find((plan) => plan.includes(text)))
      expect(change).toMatch(/Index Scan using job_pkey/)
      expect(change).toMatch(/Index Scan using job_tenant_app_id_status_created_at_id_idx|job_status_job_type/)
      expect(count).toMatch(/Index (Only )?Scan using job_|Bitmap Index Scan on job_/)
      for (const plan of [change, count]) expect(plan).not.toMatch(/Seq Scan on job/)
    }
  })

  it('claims and the search for expired leases', async () => {
    const { leaseLost } = await import('../../src/server/start-work.ts')
    const { jobs } = gateway.services
    const request = { jobTypes: ['type_0', 'type_1'], limit: 2, leaseSeconds: 30 }
    const before = cluster.readLog().length
    expect(await jobs.claimOfAllTenants({ lastServed: new Map(), ...request })).toHaveLength(2)
    expect(await jobs.claim('nobody', request)).toEqual([])
    expect(await jobs.failExpired(leaseLost)).toBe(0)
    const plans = cluster.readLog().slice(before)
    expect(plans).toMatch(/job_status_job_type_tenant_app_id_run_at_idx/)
    expect(plans).not.toMatch(/Seq Scan on job/)
    // The tenants that are suspended are read once, and not looked up for each tenant with jobs.
    expect(plans).toMatch(/NOT \(hashed SubPlan/)
  })

  it('the jobs in the metrics, of which it reads at most 10,000 per state', async () => {
    const before = cluster.readLog().length
    const { states } = await countJobs(gateway.database)
    expect(new Map(states).get('SUCCEEDED')).toBe(10_000)
    const plans = cluster.readLog().slice(before)
    expect(
      plans.match(/Index Only Scan using job_status_job_type_tenant_app_id_run_at_idx/g)?.length,
    ).toBeGreaterThanOrEqual(3)
    expect(plans).not.toMatch(/Seq Scan on job|Sort Key|Bitmap/)
  })
})

it.skipIf(!canCreateClusters)('a filter that takes too long is rejected as too expensive', async () => {
  const hasty = await listen(cluster.ownerUrl, { pool: { statementMilliseconds: 50 } })
  const query = 'query ($filter: UserFilter) { users(filter: $filter) { nodes { id } } }'
  const or = Array.from({ length: 20 }, (_, index) => ({ account: { user: { nameContains: `x${index}` } } }))
  const payload = { query, variables: { filter: { or } } }
  const response = await hasty.app.inject({ method: 'POST', url: '/graphql', headers: { 'x-api-key': key }, payload })
  expect(response.json().errors).toMatchObject([
    { message: expect.stringContaining('Use fewer conditions'), extensions: { code: 'TOO_EXPENSIVE' } },
  ])
  expect(await hasty.logged(({ limit }) => limit !== undefined)).toMatchObject({ limit: 'filter_time' })
  expect((await hasty.app.inject('/metrics')).body).toContain('fusion_refusals_total{limit="filter_time"} 1\n')
  await hasty.close()
})

it.skipIf(!canCreateClusters)(
  'an order that sorts all rows and takes too long is rejected as too expensive',
  async () => {
    const session = new pg.Client({ connectionString: cluster.adminUrl })
    await session.connect()
    await session.query('SET session_replication_role = replica')
    await session.query(`UPDATE "user" SET name = 'Ada'`)
    await session.end()
    const hasty = await listen(cluster.ownerUrl, { pool: { statementMilliseconds: 30 } })
    const orderOf = (field: string, thenBy = '') =>
      `{ users(orderBy: { field: ${field}, direction: ASC }${thenBy}) { nodes { id } } }`
    const ask = async (query: string) => {
      const request = { method: 'POST', url: '/graphql', headers: { 'x-api-key': key }, payload: { query } } as const
      return (await hasty.app.inject(request)).json().errors
    }
    expect(await ask(orderOf('NAME'))).toBeUndefined()
    expect(await ask(orderOf('NAME', ', thenBy: { field: CREATED_AT, direction: DESC }'))).toMatchObject([
      { message: expect.stringContaining('no thenBy'), extensions: { code: 'TOO_EXPENSIVE' } },
    ])
    await hasty.close()
  },
)
