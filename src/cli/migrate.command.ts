import { Command } from 'commander'
import { openDatabase } from '../db/database.ts'
import { createMigration, deployMigrations, markMigrationRolledBack, readMigrationStatus } from '../db/migrate.ts'
import { OperatorError } from '../operator.ts'
import { withDatabase } from './with-database.ts'

/** `fusion migrate …` */
export function migrateCommand(): Command {
  const command = new Command('migrate').description('apply, inspect and write database migrations')

  command
    .command('deploy')
    .description('apply the pending migrations; safe to run from several gateways at once')
    .action(() =>
      withDatabase(async (database) => {
        const applied = await deployMigrations(database)
        process.stdout.write(
          applied.length === 0 ? 'Nothing to apply.\n' : applied.map((name) => `Applied ${name}\n`).join(''),
        )
      }),
    )

  command
    .command('status')
    .description('compare the database with the migrations; exits with 1 when they differ')
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
    .argument('<migration>', 'a failed one, as status names it')
    .description('note that a failed migration is undone, by you or by itself, so that deploy runs it again')
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
    .command('new')
    .argument('<name>', 'a few words: what changes')
    .description('write the migration that takes the database to prisma/schema.prisma; touches no database')
    .action(async (name: string) => {
      const database = await openDatabase({ kind: 'embedded', dataDir: 'memory' })
      try {
        const file = await createMigration(database.driver.adapters, name)
        process.stdout.write(file === undefined ? 'The migrations agree with schema.prisma.\n' : `Wrote ${file}\n`)
      } finally {
        await database.close()
      }
    })

  return command
}
