import { createApp } from '../app.ts'
import { type Config, readConfig } from '../config.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { deployMigrations } from '../db/migrate.ts'
import { createStatementMeter } from '../db/statement-meter.ts'
import { createLogger } from '../logger.ts'
import { openDemo } from '../seed/demo.ts'
import { listenUntilStopped, untilToldToStop } from '../server.ts'
import { requireMigrations } from './with-database.ts'

/**
 * `fusion serve`. The embedded database is migrated and filled with a demo tenant when it is empty; a PostgreSQL server
 * is only looked at.
 *
 * @throws OperatorError when migrations are pending on a PostgreSQL server
 */
export async function serve(): Promise<void> {
  // From here on Ctrl-C lets what is being written be finished first.
  const toldToStop = untilToldToStop()
  const config = readConfig()
  const logger = createLogger(config)
  const meter = createStatementMeter()
  const database = await openDatabase(config.database, {
    observe: meter.observe,
    onIdleError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  })
  try {
    const demoKey = await prepare(database, config)
    const app = await createApp({ ...config, database, meter, logger, demoKey })
    await listenUntilStopped(app, config, toldToStop, (address) => {
      if (demoKey !== undefined) process.stdout.write(welcome(address, demoKey, config))
    })
  } finally {
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
