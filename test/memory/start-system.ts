import type { Database } from '@fusion-gateway/database'
import pg from 'pg'
import { openDatabase } from '../../src/database.ts'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { type Cluster, createCluster } from '../support/cluster.ts'
import { migrate, roleOf } from '../support/migrate.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { locationOf } from '../support/settings.ts'
import type { Place } from './client.ts'
import { connectDirectly, type DirectSql } from './direct-sql.ts'
import { createTenants, type Tenant, tokensOf } from './people.ts'

/**
 * Two gateways of two processes each. Both reach the database by addresses that can lead to another server: PgBouncer,
 * in transaction mode for the first gateway, and in session mode for the second one, which reads from a replica too.
 */
export interface System {
  readonly primary: Cluster
  readonly replica: Cluster
  readonly places: readonly Place[]
  readonly gateways: readonly RunningGateway[]
  /** Writes at the same address. */
  readonly sql: DirectSql
  readonly database: Database
  readonly tenants: readonly Tenant[]
  /** Lets the addresses lead to another server, or to another database of it. */
  retarget(cluster: Pick<Cluster, 'url'>): void
  /** Stops everything. */
  remove(): Promise<void>
}

/**
 * With these settings of the primary, a commit returns when the replica shows it. Otherwise reads from a replica show a
 * write a little later, with and without the memory, and a failover loses writes.
 */
const synchronous = [
  "ALTER SYSTEM SET synchronous_standby_names = '*'",
  'ALTER SYSTEM SET synchronous_commit = remote_apply',
  'SELECT pg_reload_conf()',
]

const replicaFollows = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'`

/** Starts the system. */
export async function startSystem(size: { readonly tenants: number; readonly people: number }): Promise<System> {
  const ends: (() => Promise<unknown>)[] = []
  const remove = async () => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    const primary = await createCluster({ wal_retrieve_retry_interval: '100ms' })
    ends.push(() => primary.remove())
    await migrate(primary.ownerUrl, roleOf(primary.url))
    const bouncers = await Promise.all([
      startPgBouncer(primary, 20),
      // Each session of a client keeps one of the server.
      startPgBouncer(primary, 200, 'session'),
    ])
    ends.push(() => Promise.all(bouncers.map((bouncer) => bouncer.stop())))
    const [transactions, sessions] = bouncers
    const replica = await primary.createReplica()
    ends.push(() => replica.remove())
    await synchronize(primary)

    const env = { RATE_LIMIT: '0', DATABASE_STATEMENT_TIMEOUT: '30' }
    const start = async (own: Record<string, string>) => {
      const gateway = await startGateway({ ...env, ...own }, ['--processes', '2'])
      ends.push(() => gateway.stop())
      // Nobody reads the lines of so many requests.
      for (const output of [gateway.child.stdout, gateway.child.stderr]) output?.removeAllListeners('data').resume()
      return gateway
    }
    const gateways = [
      await start({ DATABASE_URL: transactions.url, DATABASE_DIRECT_URL: sessions.url }),
      await start({ DATABASE_URL: sessions.url, DATABASE_REPLICA_URLS: replica.url }),
    ] as const

    const sql = connectDirectly(sessions.url)
    ends.push(() => sql.close())
    const database = await openDatabase(locationOf(sessions.url))
    ends.push(() => database.close())
    const tenants = await createTenants(database, sql, size, tokensOf(gateways[0].address))
    return {
      primary,
      replica,
      gateways,
      places: [
        { address: gateways[0].address, sees: 'the primary' },
        // The replica shows what the primary does not show yet.
        { address: gateways[1].address, sees: undefined },
      ],
      sql,
      database,
      tenants,
      retarget(cluster) {
        for (const bouncer of bouncers) bouncer.retarget(cluster)
      },
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

async function synchronize(cluster: Cluster): Promise<void> {
  const session = new pg.Client({ connectionString: cluster.adminUrl })
  await session.connect()
  for (const statement of synchronous) await session.query(statement)
  while ((await session.query(replicaFollows)).rowCount === 0) await session.query('SELECT pg_sleep(0.02)')
  await session.end()
}
