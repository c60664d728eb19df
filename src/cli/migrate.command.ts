import { Command } from 'commander'
import { openDatabase } from '../db/database.ts'
import {
  createMigration,
  deployMigrations,
  markMigrationRolledBack,
  readMigrationStatus,
} from '../db/migrations/migrations.ts'
import { OperatorError } from '../errors.ts'
import { reportCopy, withDatabase } from './with-database.ts'

/** `fusion migrate …` */
export function migrateCommand(): Command {
  const command = new Command('migrate').description('apply, compare, repair and write database migrations')

  command
    .command('deploy')
    .description('apply the pending migrations. Several processes may do so at the same time')
    .action(() =>
      withDatabase(async (database) => {
        const applied = await deployMigrations(database, reportCopy)
        process.stdout.write(
          applied.length === 0 ? 'Nothing to apply.\n' : applied.map((name) => `Applied ${name}\n`).join(''),
        )
      }),
    )

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
