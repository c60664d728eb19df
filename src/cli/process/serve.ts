import { write } from 'node:fs'
import type { Logger } from 'pino'
import { createApp } from '../../app.ts'
import { type Config, readConfig } from '../../config.ts'
import { measureJobs } from '../../domain/job/measure-jobs.ts'
import { schemas } from '../../domain/schema.graphql.ts'
import { openDemo } from '../../domain/seed/demo.ts'
import { createServices } from '../../domain/services.ts'
import { startUsageWriter } from '../../domain/usage/usage-writer.ts'
import { type Database, openDatabase } from '../../engine/db/database.ts'
import { deployMigrations } from '../../engine/db/migrations/migrations.ts'
import { createStatementMeter, type StatementMeter } from '../../engine/db/statement-meter.ts'
import { readTrustedDocuments } from '../../engine/graphql/http/trusted-documents.ts'
import { serveMetrics } from '../../engine/http/plugins/metrics.ts'
import { listen } from '../../engine/http/server/listen.ts'
import { createRateLimit } from '../../engine/limits/rate-limit.ts'
import { createRecentWrites } from '../../engine/limits/recent-writes.ts'
import type { RedisConnection } from '../../engine/limits/redis.ts'
import { createLogger } from '../../engine/telemetry/logger.ts'
import { createMetrics, type Metrics, measureProcess } from '../../engine/telemetry/metrics.ts'
import { requireMigrations } from '../actions/with-database.ts'
import type { Io } from '../io.ts'
import { exitOnUncaughtError } from './exit-on-uncaught-error.ts'
import { maxConnectionsOf } from './max-connections.ts'
import { openRedis } from './open-redis.ts'
import { releaseMemory } from './release-memory.ts'
import { startTracing, stopTracing } from './start-tracing.ts'
import { readHandlers, startWork } from './start-work.ts'
import { exitAtLatest, receiveStopSignals, stopResponding } from './stop.ts'
import type { Supervisor } from './supervisor/connect.ts'
import { webhookKeysOf } from './webhook-keys.ts'

export interface ServeOptions {
  readonly handlers?: string
  readonly concurrency: number
  /** How many processes serve together on the port. */
  readonly processes: number
}

/**
 * Serves GraphQL and REST until the process is told to stop.
 *
 * The embedded database is migrated and gets a demo tenant if it is empty. This process runs its jobs, because no other process
 * can open it. A PostgreSQL server is not changed.
 *
 * @param supervisor of this process, if it is one of several
 * @throws OperatorError if a PostgreSQL server lacks migrations
 */
export async function serve(
  { env }: Pick<Io, 'env'>,
  { handlers: file, concurrency, processes }: ServeOptions,
  supervisor?: Supervisor,
): Promise<void> {
  // From here on, Ctrl-C lets writes under way finish.
  const onStopRequest = supervisor?.onStopRequest ?? receiveStopSignals()
  const toldToStop = new Promise<void>(onStopRequest)
  const config = readConfig(env)
  const runsJobs = file !== undefined || config.database.kind === 'embedded'
  const handlers = runsJobs ? await readHandlers(config, file) : undefined
  const metrics = createMetrics()
  const logger = createLogger({ ...config, metrics })
  const { trusted } = config
  const trustedDocuments = trusted && readTrustedDocuments(trusted, schemas.schema, logger)
  const tracing = await startTracing(config, logger)
  const meter = createStatementMeter(metrics.observeStatement)
  const database = await open(config, meter, metrics, logger)
  measureProcess(metrics, () => database.driver.connections())
  const webhookKeys = webhookKeysOf(config)
  const services = createServices(database, { ...config, webhookKeys, metrics, logger })
  const redis = await openRedis(config, logger)
  const { pointsPerMinute, pointsPerUser } = config
  const rateLimit = createRateLimit(pointsPerMinute, { log: logger, pointsPerUser, redis, metrics, processes })
  const recentWrites = createRecentWritesFor(config, redis)
  let stopMetrics = async () => {}
  try {
    stopMetrics = supervisor ? supervisor.shareMetrics(metrics.registry) : await serveMetrics(metrics.registry, config)
    const demoKey = await prepareDatabase(database, config, logger)
    measureJobs(metrics, services.jobs, meter)
    const trustedIssuers = await openTrustedIssuersOf(config, database, logger)
    const app = await createApp({
      ...config,
      trustedIssuers,
      maxConnections: maxConnectionsOf(config),
      metricsSource: supervisor?.metrics,
      services,
      meter,
      logger,
      tracing,
      rateLimit,
      recentWrites,
      trustedDocuments,
      demoKey: config.showsDemoKey ? demoKey : undefined,
    })
    const work = { ...config, logger, meter, tracing, rateLimit, concurrency, ...(handlers && { handlers }) }
    const { stop: stopWork, crash } = startWork(services, work)
    exitOnUncaughtError(logger, crash)
    const stopUsageWriter = startUsageWriter(services, { log: logger })
    try {
      const { host, port } = config
      // Before the first request, which would have to wait. The memory of the embedded database is several times what this would release.
      if (config.database.kind === 'postgresql') releaseMemory()
      const listenTextResolver = (url: string) => `${supervisor ? 'Process' : 'Server'} listening at ${url}`
      const address = await listen(app, { host, port, listenTextResolver })
      supervisor?.ready(address)
      if (demoKey !== undefined) print(welcome(address, demoKey, config))
      await toldToStop
      logger.info('stopping')
      exitAtLatest(config.shutdownMilliseconds, logger)
    } finally {
      await Promise.all([stopResponding(app, config.shutdownMilliseconds, onStopRequest), stopWork()])
      await stopUsageWriter()
    }
    logger.info('stopped')
  } finally {
    redis?.close()
    await stopMetrics()
    await services.events.close()
    await database.close()
    await stopTracing(tracing)
  }
}

function open({ database }: Config, meter: StatementMeter, metrics: Metrics, logger: Logger): Promise<Database> {
  return openDatabase(database, {
    usesImage: true,
    observe: meter.observe,
    laggingReader: meter.laggingReader,
    actorOf: meter.actor,
    onBatch: (size) => metrics.batchSize.observe(size),
    onIdleError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
    onReplica: (replica, isUsable, reason) => {
      metrics.replicaIsUsable.set({ replica }, Number(isUsable))
      if (isUsable) logger.info({ replica }, 'a replica is used')
      else if (reason !== undefined) logger.warn({ replica, err: reason }, 'a replica is no longer used')
    },
  })
}

/** Trusted issuers are imported only if they are configured: with OpenTelemetry and Redis they are a quarter of all modules. */
async function openTrustedIssuersOf(config: Config, database: Database, log: Logger) {
  const { trustedIssuersFile: file, tokenIssuer, fetchPrivateNetworks: allowPrivateNetworks } = config
  if (file === undefined) return []
  const { openTrustedIssuers } = await import('../../engine/auth/tokens/trusted-issuers.ts')
  return openTrustedIssuers(database, file, tokenIssuer, { log, allowPrivateNetworks })
}

function createRecentWritesFor({ database }: Config, redis: RedisConnection | undefined) {
  if (database.kind === 'embedded' || !database.replicas) return undefined
  return createRecentWrites(database.replicas.lagMilliseconds, redis)
}

/** @returns the key of the demo tenant, if there is one */
async function prepareDatabase(database: Database, { database: location }: Config, logger: Logger) {
  if (location.kind === 'postgresql') {
    await requireMigrations(database)
    return undefined
  }
  await deployMigrations(database, (folder) =>
    logger.info({ folder }, 'the data folder was copied before migrations change it'),
  )
  return openDemo(database, location.dataDir)
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
