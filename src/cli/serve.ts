import type { Logger } from 'pino'
import { createApp } from '../app.ts'
import { type Config, readConfig } from '../config.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { deployMigrations } from '../db/migrate.ts'
import { createStatementMeter, type StatementMeter } from '../db/statement-meter.ts'
import { readTrustedDocuments } from '../graphql/trusted-documents.ts'
import { serveMetrics } from '../http/metrics-route.ts'
import { createRateLimit } from '../limits/rate-limit.ts'
import { createRecentWrites } from '../limits/recent-writes.ts'
import { connectToRedis, type RedisConnection } from '../limits/redis.ts'
import { createLogger } from '../logger.ts'
import { createMetrics, type Metrics, measureProcess } from '../metrics.ts'
import { openDemo } from '../seed/demo.ts'
import { exitAtLatest, exitOnceDone, stopAnswering, untilToldToStop } from '../server.ts'
import { closeServices, createServices } from '../services.ts'
import { startTracing } from '../tracing.ts'
import { readHandlers, startWork } from './start-work.ts'
import { requireMigrations } from './with-database.ts'

export interface ServeOptions {
  readonly handlers?: string
  readonly concurrency: number
}

/**
 * Serves both faces until told to stop.
 *
 * The embedded database is migrated and filled with a demo tenant when it is empty, and its jobs are worked on here,
 * since no other process can open it; a PostgreSQL server is only looked at.
 *
 * @throws OperatorError when migrations are pending on a PostgreSQL server
 */
export async function serve({ handlers: file, concurrency }: ServeOptions): Promise<void> {
  // From here on Ctrl-C lets what is being written be finished first.
  const toldToStop = untilToldToStop()
  const config = readConfig()
  const worksOnJobs = file !== undefined || config.database.kind === 'embedded'
  const handlers = await readHandlers(config, file)
  const logger = createLogger(config)
  const tracing = await startTracing(config.traceCollector, logger)
  const metrics = createMetrics()
  const meter = createStatementMeter(metrics.observeStatement)
  const database = await open(config, meter, metrics, logger)
  measureProcess(metrics, () => database.driver.connections())
  const services = createServices(database, { metrics })
  const redis = config.redisUrl === undefined ? undefined : connectToRedis(config.redisUrl, logger)
  const { trusted } = config
  const trustedDocuments = trusted && readTrustedDocuments(trusted.file, trusted.others, logger)
  const rateLimit = createRateLimit(config.pointsPerMinute, logger, redis, metrics)
  const recentWrites = recentWritesOf(config, redis)
  let stopMetrics = async () => {}
  try {
    stopMetrics = await serveMetrics(metrics, config.host, config.metricsPort)
    const demoKey = await prepare(database, config)
    const app = await createApp({
      ...config,
      services,
      meter,
      logger,
      tracing,
      rateLimit,
      recentWrites,
      trustedDocuments,
      demoKey,
    })
    const stopWork = startWork(services, { ...config, logger, concurrency, ...(worksOnJobs && { handlers }) })
    try {
      const address = await app.listen({ host: config.host, port: config.port })
      if (demoKey !== undefined) process.stdout.write(welcome(address, demoKey, config))
      await toldToStop
      logger.info('stopping')
      exitAtLatest(config.shutdownMilliseconds, logger)
    } finally {
      await Promise.all([stopAnswering(app, config.shutdownMilliseconds), stopWork()])
    }
    logger.info('stopped')
  } finally {
    redis?.close()
    await stopMetrics()
    await closeServices(services)
    await database.close()
    const isSent = (await tracing?.stop()) ?? true
    if (!isSent) exitOnceDone()
  }
}

function open({ database }: Config, meter: StatementMeter, metrics: Metrics, logger: Logger): Promise<Database> {
  return openDatabase(database, {
    observe: meter.observe,
    mayLag: meter.mayLag,
    onBatch: (size) => metrics.batchSize.observe(size),
    onIdleError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
    onReplica: (replica, isUsable, reason) => {
      metrics.replicaIsUsable.set({ replica }, Number(isUsable))
      if (isUsable) logger.info({ replica }, 'a replica is read from')
      else if (reason !== undefined) logger.warn({ replica, err: reason }, 'a replica is left out')
    },
  })
}

function recentWritesOf({ database }: Config, redis: RedisConnection | undefined) {
  if (database.kind === 'embedded' || !database.replicas) return undefined
  return createRecentWrites(database.replicas.lagMilliseconds, redis)
}

async function prepare(database: Database, { database: location }: Config): Promise<string | undefined> {
  if (location.kind === 'embedded') {
    await deployMigrations(database)
    return openDemo(database, location.dataDir)
  }
  await requireMigrations(database)
  return undefined
}

function welcome(address: string, demoKey: string, { graphiql }: Config): string {
  return [
    '',
    '  Fusion Gateway, with a demo tenant in the embedded database.',
    '',
    `  x-api-key: ${demoKey}`,
    '',
    `  Try      curl -H 'x-api-key: ${demoKey}' '${address}/users?limit=2'`,
    ...(graphiql ? [`  GraphiQL ${address}/graphql`] : []),
    `  OpenAPI  ${address}/openapi.json`,
    '',
    '',
  ].join('\n')
}
