import { existsSync, readFileSync, write } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { loadTrustedIssuers } from '@fusion-gateway/auth'
import type { Database } from '@fusion-gateway/database'
import { readTrustedDocuments } from '@fusion-gateway/gateway-kit'
import { listen, loadPlugins, maxMetricsConnections } from '@fusion-gateway/http'
import { createRecentWrites, type RedisConnection } from '@fusion-gateway/limits'
import { createLogger, createMetrics, type Metrics, measureReadiness } from '@fusion-gateway/telemetry'
import type { Logger } from 'pino'
import { createApp } from '../app.ts'
import { type Config, readServerConfig } from '../config.ts'
import type { OpenOptions } from '../database.ts'
import { schemasFor } from '../domain/schema.graphql.ts'
import { userScopes } from '../domain/scopes.ts'
import { openDemo } from '../domain/seed/seed.ts'
import { runProcess } from './run-process.ts'
import { readHandlers } from './start-work.ts'
import { receiveStopSignals, stopResponding } from './stop.ts'
import type { Supervisor } from './supervise.ts'

export interface ServeOptions {
  readonly handlers?: string
  readonly concurrency: number
  readonly processes: number
}

/**
 * Serves GraphQL and REST until the process is told to stop.
 *
 * The embedded database is migrated and gets a demo tenant if it is empty. This process runs its jobs, because no other
 * process can open it. A PostgreSQL server is not changed.
 *
 * @param supervisor of this process, if it is one of several
 * @throws OperatorError if a PostgreSQL server lacks migrations, or has not answered for a minute
 */
export async function serve(
  { env }: { readonly env: NodeJS.ProcessEnv },
  { handlers: file, concurrency, processes }: ServeOptions,
  supervisor?: Supervisor,
): Promise<void> {
  const config = readServerConfig(env)
  // From here on, Ctrl-C lets writes under way finish.
  const { onStopRequest, draining } = supervisor ?? receiveStopSignals(config.drainMilliseconds)
  const toldToStop = new Promise<void>(onStopRequest)
  const runsJobs = file !== undefined || config.database.kind === 'embedded'
  const handlers = runsJobs ? await readHandlers(config, file) : undefined
  // On the port of the gateway, everyone can read them.
  const metrics = createMetrics({ showsTenants: config.metricsPort !== undefined })
  const logger = createLogger({ ...config, metrics })
  for (const note of config.notes) logger.warn({}, note)
  const { trusted, pluginFiles } = config
  const trustedDocuments = trusted && readTrustedDocuments(trusted, schemasFor(config).schema, logger)
  const plugins = await loadPlugins(pluginFiles)
  await runProcess({
    config,
    metrics,
    logger,
    toldToStop,
    processes,
    databaseOptions: { readsReplicas: true, servesRequests: true, onReplica: logReplica(metrics, logger) },
    ...(supervisor && { shareMetrics: () => supervisor.shareMetrics(metrics.registry) }),
    handlers,
    concurrency,
    async start({ database, services, tracing, rateLimit, redis }) {
      const demoKey =
        config.database.kind === 'embedded' ? await openDemo(database, config.database.dataDir) : undefined
      if (!services.webhooks.secrets) logger.warn({}, noKeys)
      const app = await createApp({
        ...config,
        trustedIssuers: await openTrustedIssuersOf(config, database, logger),
        draining,
        maxConnections: maxConnectionsOf(config, database.driver.nodes?.().length),
        metricsSource: supervisor?.metrics,
        services,
        logger,
        tracing,
        rateLimit,
        recentWrites: createRecentWritesFor(config, redis),
        trustedDocuments,
        plugins,
        demoKey: config.showsDemoKey ? demoKey : undefined,
      })
      measureReadiness(metrics, app.isReady)
      return {
        async begin() {
          const { host, port } = config
          // Before the first request, which would have to wait. The memory of the embedded database is several times
          // what this would release.
          if (config.database.kind === 'postgresql') releaseMemory()
          const listenTextResolver = (url: string) => `${supervisor ? 'Process' : 'Server'} listening at ${url}`
          const address = await listen(app, { host, port, listenTextResolver })
          supervisor?.ready(address)
          if (demoKey !== undefined) print(welcome(address, demoKey, config))
        },
        stop: () => stopResponding(app, config.shutdownMilliseconds, onStopRequest),
      }
    },
  })
}

const noKeys =
  'SECRET_KEYS is not set: there are no webhooks, and the private keys that sign access tokens are stored unencrypted'

function logReplica(metrics: Metrics, logger: Logger): NonNullable<OpenOptions['onReplica']> {
  return (replica, isUsable, reason) => {
    metrics.replicaIsUsable.set({ replica }, Number(isUsable))
    if (isUsable) logger.info({ replica }, 'a replica is used')
    else if (reason !== undefined) logger.warn({ replica, err: reason }, 'a replica is no longer used')
  }
}

/**
 * Trusted issuers are imported only if they are configured: with OpenTelemetry and Redis they are a quarter of all
 * modules.
 */
async function openTrustedIssuersOf(config: Config, database: Database, log: Logger) {
  const { trustedIssuersFile: file, tokenIssuer, fetchPrivateNetworks: allowPrivateNetworks } = config
  if (file === undefined) return []
  const { openTrustedIssuers } = await loadTrustedIssuers()
  return openTrustedIssuers(database, file, tokenIssuer, { log, allowPrivateNetworks, userScopes })
}

function createRecentWritesFor({ database }: Config, redis: RedisConnection | undefined) {
  if (database.kind === 'embedded' || !database.replicas) return undefined
  return createRecentWrites(database.replicas.lagMilliseconds, redis)
}

/** Prints a text. Not through `process.stdout`, whose error (a full disk) would end the process. */
function print(text: string): void {
  write(process.stdout.fd, text, () => undefined)
}

function welcome(address: string, demoKey: string, { graphiql }: Config): string {
  return [
    '',
    '  Fusion Gateway, with a demo tenant in the embedded database.',
    '',
    `  x-api-key: ${demoKey}`,
    '',
    `  Try      curl -H 'x-api-key: ${demoKey}' '${address}/users?limit=2'`,
    `  Browser  ${address}`,
    ...(graphiql ? [`  GraphiQL ${address}/graphql`] : []),
    `  OpenAPI  ${address}/openapi.json`,
    '',
    '',
  ].join('\n')
}

/**
 * Collects the garbage of the start, and gives its memory back to the system. The start fills V8's space for young
 * objects, which grows meanwhile, and would shrink only when the process has been idle for some time.
 */
function releaseMemory(): void {
  // The one way to collect garbage in a process that was started without the flag. It is reset, because the code in the
  // compile cache belongs to the flags with which it was compiled.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as NonNullable<typeof gc>
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** Descriptors for streams, the event loop, Redis, traces, and files that are open for a moment. */
const ownDescriptors = 64

/** PGlite keeps up to 100 files open (`max_files_per_process`). */
const embeddedDescriptors = 128

/** The share of the descriptors that clients always get. */
const minShare = 1 / 4

/** The descriptors that the connections of clients must leave for a process that serves. */
function reservedDescriptors(
  { database, metricsPort }: Pick<Config, 'database' | 'metricsPort'>,
  nodes: number,
): number {
  const metrics = metricsPort === undefined ? 0 : maxMetricsConnections
  if (database.kind === 'embedded') return ownDescriptors + embeddedDescriptors + metrics
  const { pool, replicas } = database
  const size = pool?.size ?? 0
  // Four more connections to the primary listen, probe and check the log, and one more to each server watches the lag
  // of the replicas, or checks a node.
  const connections = size + 5 + (nodes + (replicas?.urls.length ?? 0)) * (size + 1)
  return ownDescriptors + connections + metrics
}

/**
 * The number of client connections that leaves enough descriptors for the database and everything else. A process
 * without a free descriptor can neither connect to the database again nor open a file.
 *
 * @param nodes how many nodes of a distributed database it follows
 * @returns undefined if there is no limit, or it is unknown
 */
function maxConnectionsOf(config: Pick<Config, 'database' | 'metricsPort'>, nodes = 0): number | undefined {
  const limit = readDescriptorLimit()
  if (limit === undefined) return undefined
  return Math.max(Math.floor(limit * minShare), limit - reservedDescriptors(config, nodes))
}

/**
 * Reads how many descriptors this process may have; undefined where the system does not say. Node raises the soft limit
 * to the hard one when it starts.
 */
function readDescriptorLimit(): number | undefined {
  const limits = '/proc/self/limits'
  const soft = existsSync(limits) && /^Max open files +(\d+)/m.exec(readFileSync(limits, 'utf8'))?.[1]
  return soft ? Number(soft) : undefined
}
