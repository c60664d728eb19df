import { EventEmitter, once } from 'node:events'
import type { Database } from '@fusion-gateway/database'
import { createFairQueues, createRecentWrites, createWriteQueue } from '@fusion-gateway/limits'
import type { PoolSettings, ReplicaObserver, ReplicaSettings } from '@fusion-gateway/sql'
import { createLogger } from '@fusion-gateway/telemetry'
import type { FastifyInstance } from 'fastify'
import { type AppOptions, createApp } from '../../src/app.ts'
import { openDatabase } from '../../src/database.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { createServices } from '../../src/domain/services.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import type { Cluster } from './cluster.ts'
import { migrate, roleOf } from './migrate.ts'
import { patientLoad, patientTimeouts } from './patient-load.ts'
import { locationOf, settings } from './settings.ts'

/** A gateway in this process. */
export interface Gateway {
  readonly app: FastifyInstance
  readonly services: ReturnType<typeof createServices>
  /** The lines of the log, parsed. */
  readonly log: Record<string, unknown>[]
  /** Waits for a line of the log. */
  logged(matches: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>
  /** Closes all but the database. */
  close(): Promise<void>
}

/** Whether Yoga serves every request: a step of test:all runs the tests of GraphQL and HTTP once so. */
const withoutShortCut = process.env['TEST_SHORT_CUT'] === 'off'

/** Creates a gateway, without a socket, on a database that is open. */
export async function createGateway(
  database: Database,
  serviceSettings: Parameters<typeof createServices>[1],
  options: Partial<AppOptions> = {},
): Promise<Gateway> {
  const log: Record<string, unknown>[] = []
  const lines = new EventEmitter()
  const write = (line: string) => {
    log.push(JSON.parse(line))
    lines.emit('line')
  }
  const services = createServices(database, serviceSettings)
  const logger = createLogger({ logLevel: 'info' }, { write })
  const patient = {
    load: patientLoad,
    timeouts: patientTimeouts,
    // Tests of reads repeat them. Tests of the memory set its size.
    responseCacheBytes: 0,
    logMilliseconds: 60_000,
    rejectionMilliseconds: 50,
  }
  const app = await createApp({ ...settings, services, logger, ...patient, withoutShortCut, ...options })
  return {
    app,
    services,
    log,
    async logged(matches) {
      for (;;) {
        const line = log.find(matches)
        if (line) return line
        await once(lines, 'line')
      }
    },
    async close() {
      await app.close()
      await services.events.close()
    },
  }
}

/** A listening gateway in this process, on a PostgreSQL server that the test can break. */
export interface ListeningGateway extends Gateway {
  readonly database: Database
  readonly address: string
  /** The SQL statements that were sent. */
  readonly statements: string[]
}

/** Starts the gateway on a migrated database. */
export async function listen(
  url: string,
  {
    pool = {},
    replicas,
    onReplica,
    ...options
  }: Partial<AppOptions> & {
    readonly pool?: Partial<PoolSettings>
    readonly replicas?: ReplicaSettings
    readonly onReplica?: ReplicaObserver
  } = {},
): Promise<ListeningGateway> {
  const statements: string[] = []
  const observe = (sql: string) => {
    statements.push(sql)
    return undefined
  }
  const queues = createFairQueues(pool.size)
  const database = await openDatabase(
    { ...locationOf(url, pool), replicas },
    {
      observe,
      readsReplicas: true,
      runWrite: createWriteQueue(queues, pool.acquireMilliseconds),
      ...(onReplica && { onReplica }),
    },
  )
  const recentWrites = replicas && createRecentWrites(replicas.lagMilliseconds)
  const gateway = await createGateway(database, { ...settings, queues }, { graphiql: false, recentWrites, ...options })
  const address = await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  return {
    ...gateway,
    database,
    address,
    statements,
    async close() {
      await gateway.close()
      await database.close()
    },
  }
}

/** Migrates the database of a server, and creates a tenant and a key with all scopes. */
export async function prepare({
  url,
  ownerUrl,
}: Pick<Cluster, 'url' | 'ownerUrl'>): Promise<{ readonly tenantAppId: string; readonly key: string }> {
  await migrate(ownerUrl, roleOf(url))
  const database = await openDatabase(locationOf(url))
  const { id: tenantAppId } = await createTenant(database, 'Faults')
  const { key } = await createKey(database, { tenantAppId, name: 'faults' })
  await database.close()
  return { tenantAppId, key }
}
