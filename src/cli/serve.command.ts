import { Command } from 'commander'
import { createApp } from '../app.ts'
import { type Config, readConfig } from '../config.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { deployMigrations } from '../db/migrate.ts'
import { createStatementMeter } from '../db/statement-meter.ts'
import { readTrustedDocuments } from '../graphql/trusted-documents.ts'
import { createRateLimit } from '../limits/rate-limit.ts'
import { connectToRedis } from '../limits/redis.ts'
import { createLogger } from '../logger.ts'
import { openDemo } from '../seed/demo.ts'
import { listenUntilStopped, untilToldToStop } from '../server.ts'
import { closeServices, createServices } from '../services.ts'
import { defaultConcurrency, readConcurrency, readHandlers, startWork } from './start-work.ts'
import { requireMigrations } from './with-database.ts'

interface ServeOptions {
  readonly handlers?: string
  readonly concurrency: number
}

/** `fusion serve` */
export function serveCommand(): Command {
  return new Command('serve')
    .description('serve both faces until told to stop')
    .option('--handlers <file>', 'work on jobs in this process too, with the functions that the file exports')
    .option('--concurrency <count>', 'how many jobs to work on at a time', readConcurrency, defaultConcurrency)
    .action(serve)
}

/**
 * The embedded database is migrated and filled with a demo tenant when it is empty, and its jobs are worked on here,
 * since no other process can open it; a PostgreSQL server is only looked at.
 *
 * @throws OperatorError when migrations are pending on a PostgreSQL server
 */
async function serve({ handlers: file, concurrency }: ServeOptions): Promise<void> {
  // From here on Ctrl-C lets what is being written be finished first.
  const toldToStop = untilToldToStop()
  const config = readConfig()
  const worksOnJobs = file !== undefined || config.database.kind === 'embedded'
  const handlers = await readHandlers(config, file)
  const logger = createLogger(config)
  const meter = createStatementMeter()
  const database = await openDatabase(config.database, {
    observe: meter.observe,
    onIdleError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  })
  const services = createServices(database)
  const redis = config.redisUrl === undefined ? undefined : connectToRedis(config.redisUrl, logger)
  const { trusted } = config
  const trustedDocuments = trusted && readTrustedDocuments(trusted.file, trusted.others, logger)
  const rateLimit = createRateLimit(config.pointsPerMinute, logger, redis)
  try {
    const demoKey = await prepare(database, config)
    const app = await createApp({ ...config, services, meter, logger, rateLimit, trustedDocuments, demoKey })
    const stopWork = startWork(services, { ...config, logger, concurrency, ...(worksOnJobs && { handlers }) })
    await listenUntilStopped(app, config, toldToStop, (address) => {
      if (demoKey !== undefined) process.stdout.write(welcome(address, demoKey, config))
    }).finally(stopWork)
  } finally {
    redis?.close()
    await closeServices(services)
    await database.close()
  }
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
