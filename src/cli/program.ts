import { writeFileSync } from 'node:fs'
import { fullVersion, maxPointsPerMinute } from '@fusion-gateway/base'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { type EventType, eventTypes } from '../domain/event/event.ts'
import { scopes } from '../domain/scopes.ts'
import { secretPrefix } from '../domain/webhook/secrets.ts'
import type { ServeOptions } from '../server/serve.ts'
import type { ImportServiceOptions } from './actions/import-service.ts'
import type { ShadowOptions } from './actions/shadow.ts'
import type { ImportOptions } from './actions/transfer.ts'
import type { UsageOptions } from './actions/usage.ts'
import type { ErasureOptions } from './actions/verify.ts'
import type { Io, Output } from './io.ts'
import {
  readEventId,
  readExpiry,
  readFilledText,
  readGrace,
  readList,
  readNode,
  readNodes,
  readUrl,
  wholeNumber,
} from './option-values.ts'

// This file says what each command accepts, and loads almost nothing. A command that runs imports its file in actions/
// or server/, and with it the gateway's code: otherwise `fusion --help` would take seconds.

const commands = [
  serveCommand,
  workCommand,
  migrateCommand,
  tenantsCommand,
  keysCommand,
  signingKeysCommand,
  usageCommand,
  webhooksCommand,
  mcpCommand,
  verifyCommand,
  importCommand,
  exportCommand,
  shadowCommand,
  backupCommand,
  restoreCommand,
  seedCommand,
  schemaCommand,
]

/** Creates the command `fusion`. It throws a CommanderError where it would end the process. */
export function createProgram(io: Io): Command {
  const program = new Command('fusion')
    .description('Fusion Gateway: GraphQL and REST over users, accounts, profiles and jobs')
    .showHelpAfterError('Run the command with --help for its usage.')
    .option('-V, --version', 'print the version, the commit and the version of Node')
    .on('option:version', () => {
      io.stdout.write(`${fullVersion()}\n`)
      throw new CommanderError(0, 'commander.version', 'version')
    })
  for (const create of commands) program.addCommand(create(io))
  useIo(program, io)
  return program
}

/** Lets a command and those below it write to `io`, and throw where they would end the process. */
function useIo(command: Command, io: Io): void {
  const { stdout, stderr } = io
  command.exitOverride().configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
    getOutHelpWidth: () => widthOf(stdout),
    getErrHelpWidth: () => widthOf(stderr),
  })
  for (const child of command.commands) useIo(child, io)
}

function widthOf({ isTTY, columns = 80 }: Output): number {
  return isTTY ? columns : 80
}

/** Runs an action with the arguments and options of its command. Its file is loaded then. */
function lazily<Values extends unknown[]>(io: Io, load: () => Promise<(io: Io, ...values: Values) => Promise<void>>) {
  return async (...values: Values): Promise<void> => (await load())(io, ...values)
}

const concurrency = new Option('--concurrency <count>', 'the number of jobs that run at the same time')
  .argParser(wholeNumber(1, 1_000))
  .default(4)

function serveCommand(io: Io): Command {
  return new Command('serve')
    .description('serve GraphQL and REST')
    .option(
      '--handlers <file>',
      'run jobs in this process too, with the functions that the file exports (with the embedded database it always runs jobs)',
    )
    .addOption(concurrency)
    .option(
      '--processes <count>',
      'the number of processes that serve together on the port; more than one needs PostgreSQL. SIGHUP restarts them one by one',
      wholeNumber(1, 64),
      1,
    )
    .action(async (options: ServeOptions) => {
      if (options.processes === 1) return (await import('../server/serve.ts')).serve(io, options)
      const { default: cluster } = await import('node:cluster')
      const { connectToSupervisor, supervise } = await import('../server/supervise.ts')
      // The supervisor does not load the code that serves.
      if (cluster.isPrimary) return supervise(io, options.processes)
      const supervisor = connectToSupervisor()
      return (await import('../server/serve.ts')).serve(io, options, supervisor)
    })
}

function workCommand(io: Io): Command {
  return new Command('work')
    .description('run the jobs of all tenants. With the embedded database, `serve` does so itself')
    .option(
      '--handlers <file>',
      'the functions that the file exports run the jobs of the types they are named after. See docs/jobs.md',
    )
    .addOption(concurrency)
    .option(
      '--lease <seconds>',
      'how long other workers wait for a worker that has died. 30 by default',
      wholeNumber(1, 3_600),
    )
    .action(lazily(io, async () => (await import('../server/run-process.ts')).work))
}

const types = Object.keys(eventTypes) as EventType[]

function webhooksCommand(io: Io): Command {
  const command = new Command('webhooks').description('try an endpoint during development')

  command
    .command('listen')
    .description(
      'print the events of your tenant, and forward them to an endpoint on this machine. FUSION_API_KEY is the key',
    )
    .option('--url <url>', 'the gateway', readUrl, 'http://127.0.0.1:4000')
    .option('--types <list>', 'only these types of events, separated by commas', readTypes)
    .option('--forward <url>', 'the endpoint', readUrl)
    .option('--secret <secret>', 'the secret that signs; a new one by default', readSecret)
    .action(lazily(io, async () => (await import('./actions/webhooks.ts')).listen))

  return command
}

function readTypes(text: string): EventType[] {
  const given = readList(text)
  const unknown = given.find((type) => !types.some((known) => known === type))
  if (unknown === undefined) return given as EventType[]
  throw new InvalidArgumentError(`${unknown} is not a type of events. Types: ${types.join(', ')}.`)
}

function readSecret(text: string): string {
  if (new RegExp(`^${secretPrefix}[\\w+/]{32,88}={0,2}$`).test(text)) return text
  throw new InvalidArgumentError(`Give a secret: ${secretPrefix} and 24 to 64 bytes in base64.`)
}

function tenantsCommand(io: Io): Command {
  const command = new Command('tenants').description('create, list, suspend and delete tenants')

  command
    .command('create')
    .argument('<name>', 'the name, which no other tenant has')
    .description('create a tenant and print its id')
    .action(lazily(io, async () => (await import('./actions/tenants.ts')).addTenant))

  command
    .command('list')
    .description('list the tenants')
    .action(lazily(io, async () => (await import('./actions/tenants.ts')).printTenants))

  command
    .command('suspend')
    .argument('<name>', 'the name of the tenant')
    .description(
      'refuse the keys and tokens of a tenant, end its subscriptions, and start none of its jobs and deliveries. Its data stays',
    )
    .action(lazily(io, async () => (await import('./actions/tenants.ts')).suspend))

  command
    .command('resume')
    .argument('<name>', 'the name of the tenant')
    .description('let a suspended tenant go on where it stopped')
    .action(lazily(io, async () => (await import('./actions/tenants.ts')).resume))

  command
    .command('delete')
    .argument('<name>', 'the name of the tenant')
    .option('--yes <name>', 'the name again, without which the command asks for it on a terminal')
    .description('delete a suspended tenant and everything that belongs to it. After an interruption, run it again')
    .action(lazily(io, async () => (await import('./actions/tenants.ts')).remove))

  return command
}

const maxNumber = 2 ** 32 - 1

function seedCommand(io: Io): Command {
  return new Command('seed')
    .description('fill a tenant with made-up users: each has 3 accounts with profiles, and 2 emails per profile')
    .requiredOption('--tenant <name>', 'the tenant to fill')
    .requiredOption('--users <count>', 'the number of users', wholeNumber(0, maxNumber))
    .option('--seed <number>', 'the same number creates the same users', wholeNumber(0, maxNumber), 1)
    .action(lazily(io, async () => (await import('./actions/tenants.ts')).seed))
}

function backupCommand(io: Io): Command {
  return new Command('backup')
    .argument('<file>', 'the file to write. It must not exist')
    .description('write a backup of the embedded database. Stop the gateway first')
    .action(lazily(io, async () => (await import('./actions/backup.ts')).writeBackup))
}

function restoreCommand(io: Io): Command {
  return new Command('restore')
    .argument('<file>', 'a backup')
    .description('restore a backup of the embedded database into DATA_DIR, which must have no database')
    .action(lazily(io, async () => (await import('./actions/backup.ts')).restoreBackup))
}

function keysCommand(io: Io): Command {
  const command = new Command('keys').description('create, list, rotate and revoke API keys')

  command
    .command('create')
    .description('create a key and print it on stdout. It is shown only once')
    .requiredOption('--tenant <name>', 'the tenant that the key belongs to')
    .option('--name <name>', 'the name of the key', 'unnamed')
    .option(
      '--expires <when>',
      'a date (2027-01-31), a time (2027-01-31T08:00:00Z), or a time from now (15m, 12h, 90d)',
      readExpiry,
    )
    .option('--scopes <list>', `the scopes, separated by commas; all by default: ${scopes.join(', ')}`, readList)
    .option(
      '--rate-limit <points>',
      'the points that the key can spend per minute, if that is less than RATE_LIMIT',
      wholeNumber(1, maxPointsPerMinute),
    )
    .action(lazily(io, async () => (await import('./actions/keys.ts')).createKeyOf))

  command
    .command('list')
    .description('list the keys, without their secrets')
    .action(lazily(io, async () => (await import('./actions/keys.ts')).printKeys))

  command
    .command('rotate')
    .argument('<id>', 'the id of the key, from keys list')
    .addOption(
      new Option('--grace <time>', 'how long the old key stays valid: 30m, 24h, 7d, or 0')
        .argParser(readGrace)
        .default(readGrace('24h'), '24h'),
    )
    .description('create the successor of a key and print it on stdout. It is shown only once')
    .action(lazily(io, async () => (await import('./actions/keys.ts')).createSuccessor))

  command
    .command('revoke')
    .argument('<id>', 'the id of the key, from keys list')
    .description('revoke a key, the keys that it has created, and theirs')
    .action(lazily(io, async () => (await import('./actions/keys.ts')).revokeTree))

  return command
}

function signingKeysCommand(io: Io): Command {
  const command = new Command('signing-keys').description('rotate the keys that sign access tokens')

  command
    .command('rotate')
    .description('sign with a new key from now on. Tokens that the old key has signed stay valid until they expire')
    .action(lazily(io, async () => (await import('./actions/keys.ts')).replaceSigningKey))

  return command
}

function mcpCommand(io: Io): Command {
  return new Command('mcp')
    .description('serve the tools of a gateway over stdio, to MCP clients. FUSION_API_KEY is the key or a token')
    .option('--url <url>', 'the gateway', readUrl, 'http://127.0.0.1:4000')
    .action(lazily(io, async () => (await import('./actions/mcp.ts')).serveTools))
}

function migrateCommand(io: Io): Command {
  const command = new Command('migrate').description(
    'apply and compare database migrations, partition and distribute tables',
  )

  command
    .command('deploy')
    .description('apply the pending migrations. Several processes may do so at the same time')
    .option('--grants <role>', 'also print the statements that let a role run all other commands. The output is SQL')
    .option('--lock-timeout <seconds>', 'how long it waits for others that do so', wholeNumber(0, 86_400), 60)
    .option('--contract', 'also drop what only the previous version needs. None of its gateways and workers may run')
    .action(lazily(io, async () => (await import('./actions/migrate.ts')).deploy))

  command
    .command('status')
    .description('compare the database with the migrations. Exits with 1 if they differ')
    .action(lazily(io, async () => (await import('./actions/migrate.ts')).printStatus))

  command
    .command('partition')
    .description(
      'partition the tables of tenants by tenant, on PostgreSQL. They can be read meanwhile, and writes wait',
    )
    .option('--modulus <count>', 'the number of partitions of each table', wholeNumber(2, 256), 16)
    .action(lazily(io, async () => (await import('./actions/migrate.ts')).partition))

  command
    .command('distribute')
    .description(
      'distribute the tables of tenants over the nodes of Citus, on PostgreSQL. All gateways and workers must have ended. It can be run again',
    )
    .option('--node <host:port>', 'a node to add. May be repeated', readNodes, [])
    .option('--shards <count>', 'into how many parts each table is split, if it is not yet', wholeNumber(1, 1024), 32)
    .action(lazily(io, async () => (await import('./actions/migrate.ts')).distribute))

  command
    .command('move')
    .description('move the rows of a tenant to another node of Citus. Gateways and workers go on. It can be run again')
    .requiredOption('--tenant <tenant>', 'the name or id of the tenant')
    .requiredOption('--to <host:port>', 'the node, as migrate distribute has named it', readNode)
    .action(lazily(io, async () => (await import('./actions/migrate.ts')).move))

  return command
}

function schemaCommand(io: Io): Command {
  return new Command('schema')
    .description('print the GraphQL schema, sorted')
    .option('--federation', 'print that of a subgraph, for the composition of a supergraph')
    .option('--out <file>', 'write to this file instead of stdout')
    .action(async ({ federation, out }: { readonly federation?: boolean; readonly out?: string }) => {
      const { printSortedSchema, printSubgraphSchema } = await import('../domain/schema.graphql.ts')
      const text = federation ? printSubgraphSchema() : printSortedSchema()
      if (out === undefined) io.stdout.write(text)
      else writeFileSync(out, text)
    })
}

function importCommand(io: Io): Command {
  return new Command('import')
    .description(
      'import users, profiles and jobs: a JSON record per line, in the format of the REST interface, or a delta, or from the earlier service itself',
    )
    .argument('[file...]', 'the files, in order; - is stdin')
    .requiredOption('--tenant <name>', 'the tenant to import into')
    .option(
      '--from <url>',
      'read the earlier service by its own interface, instead of files. See docs/migrating.md',
      readUrl,
    )
    .option('--key <key>', 'the key for that service; better in OLD_API_KEY, which nobody else sees')
    .option('--jobs <file>', 'the ids of its jobs to import, one per line')
    .option('--rate <count>', 'the most requests to it per second', wholeNumber(1, 10_000), 10)
    .option('--dry-run', 'write nothing, and say what would be written and refused')
    .option('--rejects <file>', 'write rejected records to this file, with file, line and reason')
    .action(async (files: string[], options: ImportOptions & Partial<ImportServiceOptions>, command: Command) => {
      const { from } = options
      if (from === undefined) {
        const other = ['key', 'jobs', 'rate', 'dryRun'].find((name) => command.getOptionValueSource(name) === 'cli')
        if (other !== undefined)
          command.error(`error: option '--${other === 'dryRun' ? 'dry-run' : other}' needs --from <url>`)
        if (files.length === 0) command.error('error: say what to import: files, or --from <url>')
        return (await import('./actions/transfer.ts')).importFiles(io, files, options)
      }
      if (files.length > 0) command.error('error: give files or --from <url>, not both')
      await (await import('./actions/import-service.ts')).importFrom(io, { rate: 10, ...options, from })
    })
}

function exportCommand(io: Io): Command {
  return new Command('export')
    .description('export the users, profiles and jobs of a tenant: a JSON record per line, which import accepts')
    .requiredOption('--tenant <name>', 'the tenant to export')
    .option(
      '--since <event>',
      'export only changes and deletions after the event in the last line of an export',
      readEventId,
    )
    .option('--out <file>', 'write to this file instead of stdout')
    .action(lazily(io, async () => (await import('./actions/transfer.ts')).exportRecords))
}

function shadowCommand(io: Io): Command {
  return new Command('shadow')
    .description(
      'compare the responses of an old service with those of this gateway, and print what differs. Clients notice nothing. See docs/migrating.md',
    )
    .requiredOption('--old <url>', 'the old service, or a gateway of the previous release', readUrl)
    .requiredOption('--new <url>', 'the gateway', readUrl)
    .option(
      '--old-key <key>',
      "the key for the old service instead of the client's; better in OLD_API_KEY, which nobody else sees",
    )
    .option('--new-key <key>', "the key for the gateway instead of the client's; better in FUSION_API_KEY")
    .addOption(
      new Option('--port <port>', 'be a proxy of the old service at this port, and compare what clients read')
        .argParser(wholeNumber(0, 65_535))
        .conflicts(['requests', 'operations']),
    )
    .addOption(
      new Option(
        '--record <file>',
        'with --port: write the requests of clients into a new file for --requests, without credentials',
      ).conflicts(['requests', 'operations']),
    )
    .option('--requests <file>', 'send the requests of a HAR file, or of lines, to both')
    .option(
      '--operations',
      'send the queries of TRUSTED_DOCUMENTS and --requests to two gateways, and compare costs, statements and times too',
    )
    .option('--ignore <path...>', 'places that may differ, as the report names them: users.updated_at')
    .option('--writes', 'send writes too: to the gateway, and those of a file to the old service as well')
    .option('--show-values', 'show values in examples, instead of their form')
    .option('--json', 'print the report as a JSON object')
    .option(
      '--fail-on <count>',
      'exit with 1 if so many responses differ, or none was compared',
      wholeNumber(1, maxNumber),
    )
    .action(async (options: ShadowOptions, command: Command) => {
      if (options.port === undefined && options.requests === undefined && !options.operations) {
        command.error('error: say what to compare: --port <port>, --requests <file> or --operations')
      }
      await (await import('./actions/shadow.ts')).shadow(io, options)
    })
}

function usageCommand(io: Io): Command {
  return new Command('usage')
    .description('list who has requested what, most requests first, as long as usage is kept')
    .option('--tenant <name>', 'only this tenant')
    .option('--field <Type.field>', 'only operations that select this field of the schema')
    .option('--operation <name>', 'only operations with this name')
    .addOption(new Option('--deprecated', 'list the deprecated fields instead').conflicts(['field', 'operation']))
    .option('--json', 'print a JSON object per line')
    .action(async (options: UsageOptions, command: Command) => {
      const { isField, listUsage } = await import('./actions/usage.ts')
      if (options.field !== undefined && !isField(options.field)) {
        const reason = 'Give a field of an object or interface of the schema, such as User.email.'
        command.error(`error: option '--field <Type.field>' argument '${options.field}' is invalid. ${reason}`)
      }
      await listUsage(io, options)
    })
}

function verifyCommand(io: Io): Command {
  const command = new Command('verify').description('check what the gateway promises about its data')
  command
    .command('erasure')
    .description(
      'look for a deleted user or a deleted tenant in every column of every table. Exits with 1 if one names it',
    )
    .option('--user <id>', 'the id of the user', readFilledText)
    .option('--tenant <name>', 'the tenant of the user, all tenants by default; without --user, the id of the tenant')
    .option('--text <text>', 'a further text to look for, such as an email address; can be repeated', collect, [])
    .option('--json', 'print a JSON object per line')
    .action(async (options: ErasureOptions, erasure: Command) => {
      if (options.user === undefined && options.tenant === undefined) {
        erasure.error('error: give a user or a tenant: --user <id>, --tenant <id>')
      }
      await (await import('./actions/verify.ts')).verifyErasure(io, options)
    })
  command
    .command('secrets')
    .description('say how stored secrets are encrypted. Exits with 1 unless all are, with the first key of SECRET_KEYS')
    .option('--encrypt', 'encrypt the others with it first. No process may lack the key')
    .action(lazily(io, async () => (await import('./actions/verify.ts')).verifySecrets))
  command
    .command('distribution')
    .description(
      'check tables that Citus has distributed: where they are, what each node has, and which statements read several nodes. Exits with 1 if something is wrong',
    )
    .option('--json', 'print a JSON object per line')
    .action(lazily(io, async () => (await import('./actions/verify.ts')).verifyDistributed))
  return command
}

function collect(text: string, others: readonly string[]): string[] {
  return [...others, readFilledText(text)]
}
