import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { openDatabase } from '../engine/db/database.ts'
import { grantsFor } from '../engine/db/migrations/grants.ts'
import {
  createMigration,
  deployMigrations,
  markMigrationRolledBack,
  readMigrationStatus,
} from '../engine/db/migrations/migrations.ts'
import { partitionTables } from '../engine/db/partitions/partition-tables.ts'
import { OperatorError } from '../engine/errors.ts'
import { wholeNumber } from './option-values.ts'
import { reportCopy, requireMigrations, withDatabase } from './with-database.ts'

export function migrateCommand(): Command {
  const command = new Command('migrate').description('apply, compare, repair and write database migrations')

  command
    .command('deploy')
    .description('apply the pending migrations. Several processes may do so at the same time')
    .option('--grants <role>', 'also print the statements that let a role run all other commands. The output is SQL')
    .action(deploy)

  command
    .command('status')
    .description('compare the database with the migrations. Exits with 1 if they differ')
    .action(() =>
      withDatabase(async (database) => {
        const { applied, pending, unknown, failed } = await readMigrationStatus(database.sql)
        for (const [word, names] of Object.entries({ applied, pending, unknown, failed })) {
          for (const name of names) process.stdout.write(`${word}\t${name}\n`)
        }
        if (pending.length + unknown.length + failed.length > 0) process.exitCode = 1
      }),
    )

  command
    .command('resolve')
    .argument('<migration>', 'the name of a failed migration, from migrate status')
    .description('record that a failed migration has been undone, so that deploy applies it again')
    .action((name: string) =>
      withDatabase(async (database) => {
        const { failed } = await readMigrationStatus(database.sql)
        if (!failed.includes(name))
          throw new OperatorError(`${name} has not failed. See: npm run fusion -- migrate status`)
        await markMigrationRolledBack(database, name)
        process.stdout.write(`Resolved ${name}\n`)
      }),
    )

  command
    .command('partition')
    .description(
      'partition the tables of tenants by tenant, on PostgreSQL. They can be read meanwhile, and writes wait',
    )
    .option('--modulus <count>', 'the number of partitions of each table', wholeNumber(2, 256), 16)
    .action(partition)

  command
    .command('new')
    .argument('<name>', 'a few words for the change')
    .description('write the migration that prisma/schema.prisma needs. Touches no database')
    .action(async (name: string) => {
      const database = await openDatabase({ kind: 'embedded', dataDir: 'memory' })
      try {
        const file = await createMigration(database.driver, name)
        process.stdout.write(file === undefined ? 'The migrations match schema.prisma.\n' : `Wrote ${file}\n`)
      } finally {
        await database.close()
      }
    })

  return command
}

function requireServer(problem: string): void {
  if (readConfig().database.kind === 'postgresql') return
  throw new OperatorError(`The embedded database ${problem}. Set DATABASE_URL to that of a PostgreSQL server.`)
}

async function deploy({ grants: role }: { grants?: string }): Promise<void> {
  if (role !== undefined) requireServer('has no roles')
  await withDatabase(async (database) => {
    const applied = await deployMigrations(database, reportCopy)
    const lines = applied.length === 0 ? ['Nothing to apply.'] : applied.map((name) => `Applied ${name}`)
    for (const line of lines) process.stdout.write(role === undefined ? `${line}\n` : `-- ${line}\n`)
    if (role !== undefined) process.stdout.write(await grantsFor(database.sql, role))
  })
}

async function partition({ modulus }: { modulus: number }): Promise<void> {
  requireServer('cannot be partitioned')
  await withDatabase(async (database) => {
    await requireMigrations(database)
    const onTable = (table: string) => void (process.stderr.isTTY && process.stderr.write(`Copying ${table}\n`))
    const { tables, rows } = await partitionTables(database.driver, { modulus, onTable })
    process.stdout.write(
      tables.length === 0
        ? 'All tables are partitioned.\n'
        : `Partitioned ${tables.join(', ')}: ${modulus} partitions each. They have ${rows} rows, as before.\n`,
    )
  })
}
