import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../src/app.ts'
import { createKey } from '../../src/auth/key.service.ts'
import { createServices, type Services } from '../../src/context.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { deployMigrations } from '../../src/db/migrations/migrations.ts'
import { createStatementMeter } from '../../src/db/statement-meter.ts'
import { seedTenant } from '../../src/seed/seed.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createTenant } from '../../src/tenant/tenant.service.ts'
import { type Cluster, canMakeClusters, createCluster } from '../support/cluster.ts'

let cluster: Cluster
let database: Database
let services: Services
let app: FastifyInstance
let key: string

// The server itself writes down the plan of every statement that reaches it.
const explain = { session_preload_libraries: 'auto_explain', 'auto_explain.log_min_duration': '0', jit: 'off' }

beforeAll(async () => {
  if (!canMakeClusters) return
  cluster = await createCluster(explain)
  database = await openDatabase({ kind: 'postgresql', url: cluster.url })
  await deployMigrations(database)
  const tenants = [await createTenant(database, 'One'), await createTenant(database, 'Other')]
  for (const { id: tenantAppId } of tenants) {
    await seedTenant(database, { tenantAppId, users: 2_000, seed: 1, onProgress: () => undefined })
    await database.prisma.$executeRaw`
      INSERT INTO job (tenant_app_id, id, job_type, status, updated_at, run_at)
      SELECT ${tenantAppId}, 'job_' || number, 'type_' || number % 5, (CASE WHEN number % 100 = 0 THEN 'PENDING' ELSE 'SUCCEEDED' END)::job_status, now(), now()
      FROM generate_series(1, 20000) AS number`
  }
  await database.sql.executeScript('ANALYZE')
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
  if (!canMakeClusters) return
  await app.close()
  await services.changes.close()
  await database.close()
  await cluster.remove()
})

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

describe.skipIf(!canMakeClusters)('the plans use the indexes, whatever the table holds', () => {
  it.each(['ASC', 'DESC'])('a page of users far into the list (%s)', async (direction) => {
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

  it('users → accounts → profile → emails', async () => {
    const { plans } = await plansOf('{ users(first: 20) { nodes { accounts { profile { emails { value } } } } } }')
    expect(plans).toHaveLength(4)
    for (const plan of plans) expect(plan).not.toMatch(/Seq Scan/)
  })

  it.each(['{ jobs(first: 20) { nodes { id } } }', '{ job(id: "job_7") { status } }', '{ node(id: "job_7") { id } }'])(
    '%s',
    async (query) => {
      const { plans } = await plansOf(query)
      expect(plans.length).toBeGreaterThan(0)
      for (const plan of plans) expect(plan).not.toMatch(/Seq Scan/)
    },
  )

  it('claiming jobs, and looking for expired leases', async () => {
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
