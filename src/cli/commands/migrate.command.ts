import { Command } from 'commander'
import type { MoveOptions } from '../actions/migrate.ts'
import type { Io } from '../io.ts'
import { readNode, readNodes, wholeNumber } from './option-values.ts'

export function migrateCommand(io: Io): Command {
  const command = new Command('migrate').description('apply, compare, repair and write database migrations')

  command
    .command('deploy')
    .description('apply the pending migrations. Several processes may do so at the same time')
    .option('--grants <role>', 'also print the statements that let a role run all other commands. The output is SQL')
    .option('--lock-timeout <seconds>', 'how long it waits for others that do so', wholeNumber(0, 86_400), 60)
    .action(async ({ grants, lockTimeout }: { readonly grants?: string; readonly lockTimeout: number }) =>
      (await import('../actions/migrate.ts')).deploy(io, grants, lockTimeout * 1_000),
    )

  command
    .command('contract')
    .description('drop what only the previous version needs, when none of its gateways and workers runs')
    .action(async () => (await import('../actions/migrate.ts')).contractNow(io))

  command
    .command('status')
    .description('compare the database with the migrations. Exits with 1 if they differ')
    .action(async () => (await import('../actions/migrate.ts')).printStatus(io))

  command
    .command('resolve')
    .argument('<migration>', 'the name of a failed migration, from migrate status')
    .description('record that a failed migration has been undone, so that deploy applies it again')
    .action(async (name: string) => (await import('../actions/migrate.ts')).resolve(io, name))

  command
    .command('partition')
    .description(
      'partition the tables of tenants by tenant, on PostgreSQL. They can be read meanwhile, and writes wait',
    )
    .option('--modulus <count>', 'the number of partitions of each table', wholeNumber(2, 256), 16)
    .action(async ({ modulus }: { readonly modulus: number }) =>
      (await import('../actions/migrate.ts')).partition(io, modulus),
    )

  command
    .command('distribute')
    .description(
      'distribute the tables of tenants over the nodes of Citus, on PostgreSQL. All gateways and workers must have ended. It can be run again',
    )
    .option('--node <host:port>', 'a node to add. May be repeated', readNodes, [])
    .option('--shards <count>', 'into how many parts each table is split, if it is not yet', wholeNumber(1, 1024), 32)
    .action(async ({ node, shards }: { readonly node: readonly string[]; readonly shards: number }) =>
      (await import('../actions/migrate.ts')).distribute(io, node, shards),
    )

  command
    .command('move')
    .description('move the rows of a tenant to another node of Citus. Gateways and workers go on. It can be run again')
    .requiredOption('--tenant <tenant>', 'the name or id of the tenant')
    .requiredOption('--to <host:port>', 'the node, as migrate distribute has named it', readNode)
    .action(async (options: MoveOptions) => (await import('../actions/migrate.ts')).move(io, options))

  command
    .command('new')
    .argument('<name>', 'a few words for the change')
    .description('write the migration that prisma/schema.prisma needs. Touches no database')
    .action(async (name: string) => (await import('../actions/migrate.ts')).writeMigration(io, name))

  return command
}
