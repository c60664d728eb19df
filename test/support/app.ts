import { randomBytes } from 'node:crypto'
import { createKeyRing, type KeyRing } from '@fusion-gateway/auth'
import { createMetrics } from '@fusion-gateway/telemetry'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { AppOptions } from '../../src/app.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { createGateway, type Gateway } from './gateway.ts'
import { settings } from './settings.ts'

/** A tenant and a key with all scopes. */
export interface TestTenant {
  readonly tenantAppId: string
  readonly name: string
  readonly key: string
  readonly keyId: string
  /** An access token, which is sent instead of the key. */
  readonly token?: string
}

/** The header with which requests of a tenant are sent. */
function credentialsOf({ key, token }: TestTenant): Record<string, string> {
  return token === undefined ? { 'x-api-key': key } : { authorization: `Bearer ${token}` }
}

/** The response of a GraphQL request. */
export interface GraphQLResponse<Data> {
  readonly data: Data
  readonly errors:
    | readonly { message: string; path?: (string | number)[]; extensions: Record<string, unknown> }[]
    | undefined
}

/** The gateway on a database of its own, with the requests of clients and the SQL that it sends. */
export interface TestApp extends Gateway {
  readonly database: TestDatabase
  /** The value of SECRET_KEYS. */
  readonly webhookKey: string
  /** What encrypts stored secrets. */
  readonly keyRing: KeyRing
  createTenant(name?: string): Promise<TestTenant>
  /** Sends a GraphQL operation by POST. Does not throw if the response has errors. */
  graphql<Data = Record<string, unknown>>(
    tenant: TestTenant,
    query: string,
    variables?: Record<string, unknown>,
  ): Promise<GraphQLResponse<Data>>
  /** Sends a REST request with a JSON body. */
  rest(tenant: TestTenant, method: string, url: string, body?: unknown): Promise<LightMyRequestResponse>
  /** The SQL statements that `work` sends, without those that read keys. */
  statementsOf(work: () => Promise<unknown>): Promise<string[]>
  /** How many times a key was read so far. */
  lookups(): number
  /** Starts the gateway with other options on the same database. Close it before this one. */
  startAnother(options: Partial<AppOptions>): Promise<TestApp>
}

/** Starts the gateway without a socket, on a clone of the template database. */
export async function startTestApp(options: Partial<AppOptions> = {}): Promise<TestApp> {
  let statements: string[] = []
  let lookups = 0
  const metrics = createMetrics()
  const database = await createTestDatabase((sql) => {
    statements.push(sql)
    if (/FROM api_key/.test(sql)) lookups += 1
    return metrics.observeStatement()
  }, metrics.observeBatch)
  let tenants = 0
  const keys: string[] = []
  const logs: object[] = []

  const webhookKey = randomBytes(32)
  const keyRing = createKeyRing([webhookKey])

  const first = await start(options)
  return {
    ...first,
    async close() {
      await first.close()
      const stored = JSON.stringify(logs) + (await dump(database))
      await database.close()
      const leaked = keys.filter((key) => stored.includes(key))
      if (leaked.length > 0) throw new Error('A key is in the log or in the database')
    },
  }

  async function start(own: Partial<AppOptions>): Promise<TestApp> {
    const serviceSettings = {
      ...settings,
      backoff: { delaySeconds: 1, maxDelaySeconds: 1 },
      keyRing,
      // Receivers of tests are on this machine.
      fetchPrivateNetworks: true,
      metrics,
    }
    // Keys are not cached, so a revocation takes effect at once. test/auth/authentication.test.ts tests the cache.
    const uncached = { keyCacheMilliseconds: 0, metricsAgeMilliseconds: 0 }
    const gateway = await createGateway(database, serviceSettings, { ...uncached, ...own })
    logs.push(gateway.log)
    const client = clientOf(gateway.app)
    return { ...gateway, ...client, database, webhookKey: webhookKey.toString('base64'), keyRing, startAnother: start }
  }

  function clientOf(
    app: FastifyInstance,
  ): Pick<TestApp, 'createTenant' | 'graphql' | 'rest' | 'statementsOf' | 'lookups'> {
    return {
      async createTenant(name = `Tenant ${tenants + 1}`) {
        tenants += 1
        const { id: tenantAppId } = await createTenant(database, name)
        const { key, row } = await createKey(database, { tenantAppId, name: `key of ${name}` })
        keys.push(key)
        return { tenantAppId, name, key, keyId: row.id }
      },

      async graphql<Data>(tenant: TestTenant, query: string, variables?: Record<string, unknown>) {
        const response = await app.inject({
          method: 'POST',
          url: '/graphql',
          headers: credentialsOf(tenant),
          payload: { query, variables },
        })
        if (!response.body.startsWith('{')) {
          throw new Error(`${response.statusCode} ${response.headers['x-request-id']}\n${query}\n${response.body}`)
        }
        return response.json() as GraphQLResponse<Data>
      },

      rest: (tenant, method, url, body) =>
        app.inject({
          method: method as 'GET',
          url,
          headers: { ...credentialsOf(tenant), ...(body !== undefined && { 'content-type': 'application/json' }) },
          ...(body !== undefined && { payload: JSON.stringify(body) }),
        }),

      async statementsOf(work) {
        statements = []
        await work()
        return statements.filter((sql) => !/\b(api_key|signing_key)\b/.test(sql))
      },

      lookups: () => lookups,
    }
  }
}

/** The rows of all tables that store what clients send, as text. */
async function dump({ prisma }: TestDatabase): Promise<string> {
  const tables = [
    'tenant_app',
    'api_key',
    '"user"',
    'account',
    'profile',
    'email_record',
    'job',
    'webhook',
    'webhook_delivery',
  ]
  const rows = tables.map((table) => `SELECT t::text AS row FROM ${table} t`).join(' UNION ALL ')
  const dumped = await prisma.$queryRawUnsafe<{ row: string }[]>(
    `SELECT string_agg(row, ' ') AS row FROM (${rows}) AS all_rows`,
  )
  return dumped[0]?.row ?? ''
}
