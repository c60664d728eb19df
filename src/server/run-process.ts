import { setTimeout as sleep } from 'node:timers/promises'
import type { OperatorError } from '@fusion-gateway/base'
import { type Database, logWriteProblems } from '@fusion-gateway/database'
import type { Services } from '@fusion-gateway/gateway-kit'
import { serveMetrics } from '@fusion-gateway/http'
import {
  createFairQueues,
  createRateLimit,
  createWriteQueue,
  type FairQueues,
  loadRedis,
  type RateLimit,
  type RedisConnection,
} from '@fusion-gateway/limits'
import { createMissing, deployMigrations, requireMigrations } from '@fusion-gateway/migrate'
import { citusVersion, isNotThereYet, type NodeObserver, statement } from '@fusion-gateway/sql'
import type { Tracing } from '@fusion-gateway/telemetry'
import {
  createLogger,
  createMetrics,
  loadTracing,
  type Metrics,
  measureMissing,
  measureNodes,
  measureProcess,
} from '@fusion-gateway/telemetry'
import type { Logger } from 'pino'
import { type Config, readConfig } from '../config.ts'
import { type OpenOptions, openDatabase } from '../database.ts'
import { alignEventIds } from '../domain/event/event-log.ts'
import { countJobs, measureJobs } from '../domain/job/store/job-counts.ts'
import type { JobHandlers } from '../domain/job/worker/handler.ts'
import { createServices } from '../domain/services.ts'
import { startUsageWriter } from '../domain/usage/write-usage.ts'
import { keyRingOf } from './key-ring-of.ts'
import { readHandlers, startWork } from './start-work.ts'
import { exitAtLatest, exitOnUncaughtError, exitWhenDone, receiveStopSignals, refuseExitOfHandlers } from './stop.ts'

const pauseMilliseconds = 1_000

const ping = statement('SELECT 1')

/**
 * Waits for a database that is not there yet: it starts after this process, or its address is not known yet. An error
 * that waiting does not help against, such as a wrong password, ends it at once.
 *
 * @param options how long it waits at most, what ends it sooner, and the log, which gets a line for each attempt that
 *   fails
 * @throws the error of the last attempt
 */
export async function waitForDatabase(
  { sql, driver }: Pick<Database, 'sql' | 'driver'>,
  options: { readonly milliseconds: number; readonly toldToStop: Promise<void>; readonly log: Pick<Logger, 'warn'> },
): Promise<void> {
  const { milliseconds, toldToStop, log } = options
  let isStopping = false
  void toldToStop.then(() => {
    isStopping = true
  })
  const end = performance.now() + milliseconds
  for (;;) {
    try {
      await sql.query(ping)
      await driver.reachDirectly?.()
      return
    } catch (error) {
      if (!isNotThereYet(error) || performance.now() >= end || isStopping) throw error
      log.warn({ err: error }, 'waiting for the database')
      await Promise.race([sleep(pauseMilliseconds), toldToStop])
    }
  }
}

/** What a process has when it starts its own part. */
export interface ProcessParts {
  readonly database: Database
  readonly services: Services
  readonly tracing: Tracing | undefined
  readonly rateLimit: RateLimit
  readonly redis: RedisConnection | undefined
}

export interface OwnPart {
  /** Called when everything has started. */
  begin(): Promise<void> | void
  /** Ends it, while the jobs and deliveries of the process end. */
  stop?(): Promise<void>
}

export interface ProcessOptions {
  readonly config: Config
  readonly metrics: Metrics
  readonly logger: Logger
  readonly toldToStop: Promise<void>
  /** How many processes share the points. */
  readonly processes?: number
  readonly databaseOptions?: Pick<OpenOptions, 'onReplica'> & {
    readonly readsReplicas?: boolean
    /** Whether there are reads for which writes must leave connections. */
    readonly servesRequests?: boolean
  }
  /** Makes the metrics of this process readable. By default on METRICS_PORT, if that is set. Returns what ends it. */
  readonly shareMetrics?: () => Promise<() => Promise<void>> | (() => Promise<void>)
  /** Without handlers the process runs no jobs. */
  readonly handlers?: JobHandlers | undefined
  readonly concurrency: number
  readonly leaseSeconds?: number | undefined
  start(parts: ProcessParts): Promise<OwnPart> | OwnPart
}

/**
 * Runs a process until it is told to stop: it opens what it needs, and closes that in the reverse order, also when
 * something could not be opened.
 *
 * @throws OperatorError if a PostgreSQL server lacks migrations, or has not answered for a minute
 */
export async function runProcess(options: ProcessOptions): Promise<void> {
  const { config, metrics, logger, toldToStop, handlers, concurrency, leaseSeconds } = options
  await using opened = new AsyncDisposableStack()
  const tracing = await startTracing(config, logger)
  opened.defer(() => stopTracing(tracing))
  const queues = createFairQueues(connectionsOf(config))
  const database = await openDatabaseFor(options, queues)
  opened.defer(() => database.close())
  measureProcess(metrics, () => database.driver.connections())
  opened.defer(options.shareMetrics ? await options.shareMetrics() : await serveMetrics(metrics.registry, config))
  const redis = await openRedis(config, logger)
  opened.defer(() => redis?.close())
  await prepareDatabase(database, options)
  await followNodes(database, logger)
  await logWriteProblems(database.sql, logger)
  await alignEventIds(database, logger)
  const services = createServices(database, {
    ...config,
    keyRing: keyRingOf(config),
    metrics,
    queues,
    logger,
  })
  opened.defer(() => services.events.close())
  measureJobs(metrics, () => countJobs(database))
  measureNodes(metrics, database)
  measureMissing(metrics, createMissing(database))
  const { pointsPerMinute, pointsPerUser } = config
  const { processes = 1 } = options
  const rateLimit = createRateLimit(pointsPerMinute, { log: logger, pointsPerUser, redis, metrics, processes })
  const own = await options.start({ database, services, tracing, rateLimit, redis })
  const work = startWork(services, {
    ...config,
    logger,
    tracing,
    rateLimit,
    concurrency,
    ...(handlers && { handlers }),
    leaseSeconds,
  })
  exitOnUncaughtError(logger, work.worker)
  if (work.worker) refuseExitOfHandlers(logger, work.worker)
  opened.defer(startUsageWriter(services, { log: logger }))
  opened.defer(async () => void (await Promise.all([own.stop?.(), work.stop()])))
  await own.begin()
  const problem = await untilStopped(database, toldToStop)
  if (problem) logger.error({ err: problem }, 'shards were moved, or a node is another server')
  logger.info('stopping')
  exitAtLatest(config.shutdownMilliseconds, logger)
  await opened.disposeAsync()
  logger.info('stopped')
  if (problem) throw problem
}

function logNode(logger: Logger): NodeObserver {
  return (node, problem) => {
    if (problem === undefined) logger.info({ node }, 'a node of the database answers again')
    else logger.warn({ node, err: problem }, 'a node of the database does not answer: requests that need it fail')
  }
}

/** Waits until the process is told to stop, or cannot go on. Returns what an operator has to do then. */
async function untilStopped(database: Database, toldToStop: Promise<void>): Promise<OperatorError | undefined> {
  const watching = new AbortController()
  const stopped = toldToStop.then(() => undefined)
  const moved = watchPlacement(database, watching.signal).then((problem) => problem ?? stopped)
  const problem = await Promise.race([stopped, moved])
  watching.abort()
  return problem
}

// What knows Citus is loaded only where a database has it.

async function followNodes(database: Database, logger: Logger): Promise<void> {
  if ((await citusVersion(database.sql)) === undefined) return
  const { followLayout } = await import('@fusion-gateway/citus')
  await followLayout(database, logNode(logger))
}

async function watchPlacement(database: Database, signal: AbortSignal): Promise<OperatorError | undefined> {
  if (!database.driver.isDistributed?.()) return undefined
  const citus = await import('@fusion-gateway/citus')
  return citus.watchPlacement(database, signal)
}

const connectionsOf = ({ database }: Config) => (database.kind === 'postgresql' ? database.pool.size : undefined)

function openDatabaseFor({ config, metrics, logger, databaseOptions = {} }: ProcessOptions, queues: FairQueues) {
  const { readsReplicas = false, servesRequests = false, ...others } = databaseOptions
  const { acquireMilliseconds } = config.database.kind === 'postgresql' ? config.database.pool : {}
  return openDatabase(config.database, {
    ...others,
    usesImage: true,
    readsReplicas,
    observe: metrics.observeStatement,
    ...(servesRequests && { runWrite: createWriteQueue(queues, acquireMilliseconds) }),
    onBatch: metrics.observeBatch,
    onIdleError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  })
}

/** Waits for a PostgreSQL server, which is not changed. The embedded database is migrated. */
async function prepareDatabase(database: Database, { config, logger, toldToStop }: ProcessOptions): Promise<void> {
  if (config.database.kind === 'postgresql') {
    const milliseconds = config.databaseWaitMilliseconds
    await waitForDatabase(database, { milliseconds, toldToStop, log: logger })
    return requireMigrations(database)
  }
  await deployMigrations(database, {
    onCopy: (folder) => logger.info({ folder }, 'the data folder was copied before migrations change it'),
  })
}

/** Starts tracing, if a collector is configured. OpenTelemetry is imported only then. */
async function startTracing({ hasCollector }: Config, log: Logger): Promise<Tracing | undefined> {
  if (!hasCollector) return undefined
  const { createTracing } = await loadTracing()
  return createTracing(log)
}

/** Sends the remaining spans. Attempts to send them that are still under way do not keep the process running. */
async function stopTracing(tracing: Tracing | undefined): Promise<void> {
  const areSpansSent = (await tracing?.stop()) ?? true
  if (!areSpansSent) exitWhenDone()
}

/** Connects to Redis, if it is configured. Its client is loaded only then. */
async function openRedis({ redisUrl }: Config, log: Logger) {
  if (redisUrl === undefined) return undefined
  const { connectToRedis } = await loadRedis()
  return connectToRedis(redisUrl, log)
}

interface WorkOptions {
  readonly handlers?: string
  readonly concurrency: number
  readonly lease?: number
}

/** Runs the jobs of all tenants until the process is told to stop. */
export async function work(
  { env }: { readonly env: NodeJS.ProcessEnv },
  { handlers: file, concurrency, lease }: WorkOptions,
): Promise<void> {
  const config = readConfig(env)
  const toldToStop = new Promise<void>(receiveStopSignals().onStopRequest)
  const handlers = await readHandlers(config, file)
  const metrics = createMetrics()
  const logger = createLogger({ ...config, metrics })
  for (const note of config.notes) logger.warn({}, note)
  await runProcess({
    config,
    metrics,
    logger,
    toldToStop,
    handlers,
    concurrency,
    leaseSeconds: lease,
    start: () => ({ begin: () => logger.info({ jobTypes: [...handlers.keys()] }, 'working') }),
  })
}
