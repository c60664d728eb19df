import type { FastifyInstance } from 'fastify'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../src/app.ts'
import { createKey } from '../../src/auth/key.service.ts'
import { createServices, type Services } from '../../src/context.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { deployMigrations } from '../../src/db/migrations/migrations.ts'
import { createStatementMeter } from '../../src/db/statement-meter.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createTenant } from '../../src/tenant/tenant.service.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'

let cluster: Cluster
let database: Database
let services: Services
let app: FastifyInstance
let key: string

// The server logs the plan of every statement.
const explain = { session_preload_libraries: 'auto_explain', 'auto_explain.log_min_duration': '0', jit: 'off' }

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster(explain)
  database = await openDatabase({ kind: 'postgresql', url: cluster.url })
  await deployMigrations(database)
  const tenants = [await createTenant(database, 'One'), await createTenant(database, 'Other')]
  await createRows(tenants.map(({ id }) => id))
  key = (await createKey(database, { tenantAppId: tenants[0]?.id ?? '', name: 'k' })).key
  services = createServices(database)
  const logger = createLogger({ logLevel: 'silent' })
  app = await createApp({
    services,
    meter: createStatementMeter(),
    logger,
    graphiql: false,
    introspection: false,
    corsOrigins: [],
  })
})
afterAll(async () => {
  if (!canCreateClusters) return
  await app.close()
  await services.changes.close()
  await database.close()
  await cluster.remove()
})

/** Creates 50,000 users with an account, a profile and an email each, and 20,000 jobs, for each tenant. */
async function createRows(tenants: string[]): Promise<void> {
  // Not through the gateway, which limits how long a statement takes.
  const session = new pg.Client({ connectionString: cluster.url })
  await session.connect()
  for (const tenant of tenants) await session.query(rowsOf(tenant))
  await session.query('ANALYZE')
  await session.end()
}

function rowsOf(tenant: string): string {
  const times = `to_timestamp(number), to_timestamp(number) FROM generate_series(1, 50000) AS number`
  return `
    INSERT INTO "user" (tenant_app_id, id, name, email, created_at, updated_at)
    SELECT '${tenant}', 'usr_' || number, 'Name ' || number, number || '@example.com', ${times};
    INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, created_at, updated_at)
    SELECT '${tenant}', 'acc_' || number, 'usr_' || number, 'YOUTUBE', number::text, 'Name', ${times};
    INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, created_at, updated_at)
    SELECT '${tenant}', 'prf_' || number, 'acc_' || number, 'YOUTUBE', number::text, ${times};
    INSERT INTO email_record (tenant_app_id, id, profile_id, value, created_at, updated_at)
    SELECT '${tenant}', 'eml_' || number, 'prf_' || number, number || '@example.com', ${times};
    INSERT INTO job (tenant_app_id, id, job_type, status, updated_at, run_at)
    SELECT '${tenant}', 'job_' || number, 'type_' || number % 5,
      (CASE WHEN number % 100 = 0 THEN 'PENDING' ELSE 'SUCCEEDED' END)::job_status, now(), now()
    FROM generate_series(1, 20000) AS number;`
}

/** The plans of the statements that a request sends, without those that look up the key. */
async function plansOf(query: string, variables: Record<string, unknown> = {}) {
  const before = cluster.readLog().length
  const answer = await app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': key },
    payload: { query, variables },
  })
  const log = cluster.readLog().slice(before)
  const plans = log
    .split(/^(?=\d{4}-)/m)
    .filter((entry) => /plan:/.test(entry) && !/FROM api_key|api_key k|UPDATE api_key/.test(entry))
  return { data: answer.json().data, plans }
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
    '{ profiles(accountIds: ["acc_7", "acc_8"]) { emails { value } account { user { name } } } }',
    '{ node(id: "prf_7") { ... on Profile { account { user { accounts { id } } } } } }',
  ])('the tree %s', async (query) => {
    const { plans } = await plansOf(query)
    expect(plans).toHaveLength(1)
    expect(plans[0]).toMatch(/Index Scan/)
    expect(plans[0]).not.toMatch(/Seq Scan|Hash Join|Bitmap/)
  })

  it.each(['{ jobs(first: 20) { nodes { id } } }', '{ job(id: "job_7") { status } }', '{ node(id: "job_7") { id } }'])(
    '%s',
    async (query) => {
      const { plans } = await plansOf(query)
      expect(plans.length).toBeGreaterThan(0)
      for (const plan of plans) expect(plan).not.toMatch(/Seq Scan/)
    },
  )

  it('claims and the search for expired leases', async () => {
    const { leaseLost } = await import('../../src/job/worker/upkeep.ts')
    const { jobs } = services
    const request = { jobTypes: ['type_0', 'type_1'], limit: 2, leaseSeconds: 30 }
    const before = cluster.readLog().length
    expect(await jobs.claimOfAllTenants('', request)).toHaveLength(2)
    expect(await jobs.claim('nobody', request)).toEqual([])
    expect(await jobs.failExpired(leaseLost)).toBe(0)
    const plans = cluster.readLog().slice(before)
    expect(plans).toMatch(/job_status_job_type_tenant_app_id_run_at_idx/)
    expect(plans).not.toMatch(/Seq Scan on job/)
  })
})
