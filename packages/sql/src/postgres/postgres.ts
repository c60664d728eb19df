import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import type { Connector, Driver, NodeObserver } from '../driver.ts'
import type { DatabaseLocation, PoolSettings } from '../location.ts'
import { createReadRouter, createReplica, type ReplicaObserver, watchReplicas } from '../replicas/replica.ts'
import { Client } from './client.ts'
import type { FollowedNodes, FollowNodes } from './followed-nodes.ts'
import { listenOnPostgres } from './listener.ts'
import { takeMigrationLock } from './migration-lock.ts'
import { parseUrl, toUrl, urlOfNode } from './parse-url.ts'
import { createConnectionClass, PipeliningPool } from './pipelining-pool.ts'
import { type SentQuery, serverOf, TransactionPool } from './pool.ts'
import { refusePooler, setUpSession } from './session.ts'

export interface PostgresObservers {
  readonly onIdleError?: (error: Error) => void
  readonly readsReplicas?: boolean
  readonly onReplica?: ReplicaObserver
  /** Loads what follows the nodes of a distributed database. Without it, all statements go to the server of the URL. */
  readonly loadNodes?: () => Promise<FollowNodes>
}

type PostgresOptions = PostgresObservers &
  Omit<Extract<DatabaseLocation, { readonly kind: 'postgresql' }>, 'kind' | 'url'>

/**
 * The server ends a statement after `statement_timeout`. This much later the client gives up on a server that hangs.
 */
const lateMilliseconds = 1_000

/** The connections for a probe and for the checks of the log, of which two run at a time (limits/fair-queue.ts). */
const connectionsForProbes = 3

/** A gateway that hangs within a transaction must not hold its locks for longer. */
const idleInTransactionMilliseconds = 30_000

/**
 * Opens a pool of connections to a PostgreSQL server. No connection is made before the first statement, but replicas
 * are watched from now on.
 *
 * @param url `postgresql://user:password@host:port/database`
 * @throws OperatorError if the certificates that the URL names cannot be used
 */
export function openPostgres(url: string, options: PostgresOptions): Driver {
  const { pool: timeouts, directUrl = url, onIdleError = () => undefined } = options
  let isDistributed = false
  // LISTEN and the lock of migrations belong to a session.
  const settings = connectionSettings(
    directUrl,
    timeouts,
    options.directUrl === undefined ? noDirectUrl : wrongDirectUrl,
    () => {
      isDistributed = true
    },
  )
  const open = (sizes: PoolSettings) =>
    options.directUrl === undefined
      ? openPool(settings, sizes, onIdleError)
      : openTransactionPool(connectionSettings(url, timeouts), sizes, onIdleError)
  const pool = open(timeouts)
  const probing = open({ ...timeouts, size: connectionsForProbes })
  const replicas = openReplicas(settings, timeouts, options)
  let nodes: FollowedNodes | undefined
  async function follow(onNode?: NodeObserver): Promise<void> {
    const followNodes = await options.loadNodes?.()
    nodes ??= followNodes?.(pool, (node, sizes) => {
      const own = { ...timeouts, ...sizes }
      return openPool(connectionSettings(node ? urlOfNode(url, node) : url, own), own, onIdleError)
    })
    await nodes?.follow(onNode)
  }
  const pools = () => [pool, ...(nodes?.pools() ?? [])]
  const primary = connectorOf(pool)
  const probed = connectorOf(probing)
  const forAll = () => nodes?.forAll() ?? primary

  return {
    ...primary,
    prismaAdapter: new PrismaPg(pool),
    send: (...sent) => forAll().send(...sent),
    begin: () => forAll().begin(),
    read: (...sent) => nodes?.readForAll(...sent) ?? primary.send(...sent),
    ...(replicas && { routeRead: replicas.routeRead }),
    nodes: () => nodes?.nodes() ?? [],
    nodeOf: (tenantAppId) => nodes?.nodeOf(tenantAppId),
    follow,
    gathersStatistics: true,
    probing: { ...probed, send: (...sent) => (nodes?.standIn() ?? probed).send(...sent) },
    isShared: true,
    isDistributed: () => isDistributed,

    // An advisory lock belongs to a session. So all the work uses one session, which stays open for as long as a
    // migration takes.
    async exclusively(work, lockMilliseconds = 60_000) {
      const Client = createConnectionClass(timeouts.connectMilliseconds)
      const application_name = `${settings.application_name}-migrations`
      const session = new pg.Pool({ ...settings, application_name, Client, max: 1, idleTimeoutMillis: 0 })
      session.on('error', onIdleError)
      try {
        await takeMigrationLock(session, lockMilliseconds)
        return await work(connectorOf(session))
      } finally {
        await session.end()
      }
    },

    ...(options.directUrl !== undefined && { reachDirectly: () => reach(settings) }),

    listen: (channel, events) => listenOnPostgres(settings, channel, events, onIdleError),

    connections: () => ({
      inUse: sumOf(pools(), ({ totalCount, idleCount }) => totalCount - idleCount),
      idle: sumOf(pools(), ({ idleCount }) => idleCount),
      waiting: sumOf(pools(), ({ waitingCount }) => waitingCount),
    }),

    async close() {
      await replicas?.close()
      await nodes?.close()
      await Promise.all([pool.end(), probing.end()])
    },
  }
}

async function reach({ onConnect, ...settings }: ConnectionSettings): Promise<void> {
  const client = new Client(settings)
  client.on('error', () => undefined)
  await client.connect()
  try {
    await onConnect?.(client)
  } finally {
    await client.end()
  }
}

const noDirectUrl = 'Set DATABASE_DIRECT_URL to the URL of the server itself.'
const wrongDirectUrl = 'DATABASE_DIRECT_URL must be the URL of the server itself.'
const wrongReplicaUrl = 'DATABASE_REPLICA_URLS must be the URLs of the servers themselves.'

interface ConnectionSettings extends pg.PoolConfig {
  /** Returns a function that sets up a new session with further settings. */
  readonly setUp: (more: Readonly<Record<string, string>>) => (client: pg.ClientBase) => Promise<void>
}

/**
 * @param advice for an operator whose URL is that of a pooler of transactions; undefined: it may be one
 * @param onDistributed called if the tables are distributed over several servers
 */
function connectionSettings(
  url: string,
  timeouts: PoolSettings,
  advice?: string,
  onDistributed?: () => void,
): ConnectionSettings {
  const server = {
    application_name: 'fusion-gateway',
    ...parseUrl(url),
    connectionTimeoutMillis: timeouts.connectMilliseconds,
  }
  const refuse = advice === undefined ? undefined : refusePooler(server, advice)
  const setUp: ConnectionSettings['setUp'] = (more) => {
    const set = setUpSession({ ...more, ...networkTimeouts(timeouts) }, onDistributed)
    return async (client) => {
      await refuse?.(client)
      await set(client)
    }
  }
  return { ...server, setUp, onConnect: setUp({}) }
}

function openPool(settings: ConnectionSettings, timeouts: PoolSettings, onIdleError: (error: Error) => void): pg.Pool {
  const onConnect = settings.setUp(serverTimeouts(timeouts))
  const config = { ...settings, ...poolConfig(timeouts), onConnect }
  return new PipeliningPool(config, (sent) => (sent as SentQuery).isShortRead === true).on('error', onIdleError)
}

function openTransactionPool(
  { onConnect: _, ...settings }: pg.PoolConfig,
  timeouts: PoolSettings,
  onIdleError: (error: Error) => void,
): pg.Pool {
  const config = { ...settings, ...poolConfig(timeouts) }
  return new TransactionPool(config, serverTimeouts(timeouts)).on('error', onIdleError)
}

/** Without these node-postgres waits forever, both for a connection and for a result. */
function poolConfig({ size, connectMilliseconds, acquireMilliseconds, statementMilliseconds }: PoolSettings) {
  return {
    max: size,
    Client: createConnectionClass(connectMilliseconds),
    connectionTimeoutMillis: acquireMilliseconds,
    query_timeout: statementMilliseconds + lateMilliseconds,
  }
}

function serverTimeouts({ statementMilliseconds }: PoolSettings): Record<string, string> {
  return {
    statement_timeout: String(statementMilliseconds),
    idle_in_transaction_session_timeout: String(idleInTransactionMilliseconds),
  }
}

/** The locks of a command that is lost must not stay for as long as its statements may take. */
const maxLostMilliseconds = 60_000

/**
 * How soon the server notices that the network has lost this process, and ends its session and its locks. That is
 * before this process stops waiting for a result and the client sends the request again.
 */
function networkTimeouts({ statementMilliseconds }: PoolSettings): Record<string, string> {
  const lostMilliseconds = Math.min(statementMilliseconds, maxLostMilliseconds)
  return {
    tcp_user_timeout: String(lostMilliseconds),
    tcp_keepalives_idle: String(Math.max(1, Math.floor(lostMilliseconds / 2_000))),
    tcp_keepalives_interval: '1',
  }
}

/** Opens a pool for each replica. Returns undefined if there are none, or they are not read. */
function openReplicas(primary: pg.PoolConfig, timeouts: PoolSettings, options: PostgresOptions) {
  const { replicas, readsReplicas = false, onIdleError = () => undefined, onReplica = () => undefined } = options
  if (!readsReplicas || !replicas || replicas.urls.length === 0) return undefined
  const opened = replicas.urls.map((url) => {
    const settings = connectionSettings(url, timeouts, wrongReplicaUrl)
    const pool = openPool(settings, timeouts, onIdleError)
    return { replica: createReplica(toUrl(url).host, serverOf(pool).send, onReplica), pool, settings }
  })
  const stopWatching = watchReplicas(primary, opened, replicas.lagMilliseconds)
  const routeRead = createReadRouter(opened.map(({ replica }) => replica))
  return {
    routeRead,
    async close() {
      await stopWatching()
      await Promise.all(opened.map(({ pool }) => pool.end()))
    },
  }
}

const sumOf = (pools: readonly pg.Pool[], count: (pool: pg.Pool) => number) =>
  pools.reduce((sum, pool) => sum + count(pool), 0)

function connectorOf(pool: pg.Pool): Connector {
  return {
    ...serverOf(pool),
    runScript: async (script) => void (await pool.query(script)),
  }
}
