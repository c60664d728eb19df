import type { FastifyInstance } from 'fastify'
import { type AppOptions, createApp } from '../../src/app.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { createServices } from '../../src/domain/services.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import type { Services } from '../../src/engine/context.ts'
import { type Database, openDatabase } from '../../src/engine/db/database.ts'
import type { PoolSettings, ReplicaSettings } from '../../src/engine/db/location.ts'
import type { ReplicaObserver } from '../../src/engine/db/replicas/replica.ts'
import { createStatementMeter } from '../../src/engine/db/statement-meter.ts'
import { createRecentWrites } from '../../src/engine/limits/recent-writes.ts'
import { createLogger } from '../../src/engine/telemetry/logger.ts'
import type { Cluster } from './cluster.ts'
import { migrate, roleOf } from './migrate.ts'
import { patientLoad } from './patient-load.ts'
import { locationOf, settings } from './settings.ts'

/** A listening gateway in this process, on a PostgreSQL server that the test can break. */
export interface ListeningGateway {
  readonly app: FastifyInstance
  readonly database: Database
  readonly services: Services
  readonly address: string
  /** The lines of the log, parsed. */
  readonly log: Record<string, unknown>[]
  /** The SQL statements that were sent. */
  readonly statements: string[]
  /** Waits for a line of the log. */
  logged(matches: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>
  close(): Promise<void>
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
  const meter = createStatementMeter()
  const statements: string[] = []
  const observe = (sql: string) => {
    const end = meter.observe(sql)
    statements.push(sql)
    return end
  }
  const database = await openDatabase(
    { ...locationOf(url, pool), replicas },
    { observe, laggingReader: meter.laggingReader, actorOf: meter.actor, ...(onReplica && { onReplica }) },
  )
  const log: Record<string, unknown>[] = []
  const waiting = new Set<() => void>()
  const write = (line: string) => {
    log.push(JSON.parse(line))
    for (const wake of waiting) wake()
  }
  const services = createServices(database, settings)
  const app = await createApp({
    ...settings,
    graphiql: false,
    services,
    meter,
    logger: createLogger({ logLevel: 'info' }, { write }),
    recentWrites: replicas && createRecentWrites(replicas.lagMilliseconds),
    load: patientLoad,
    ...options,
  })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    app,
    database,
    services,
    address,
    log,
    statements,
    logged: (matches) =>
      new Promise((resolve) => {
        const look = () => {
          const line = log.find(matches)
          if (!line) return
          waiting.delete(look)
          resolve(line)
        }
        waiting.add(look)
        look()
      }),
    async close() {
      await app.close()
      await services.events.close()
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
