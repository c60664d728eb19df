import { Command } from 'commander'
import { createTenant, findTenant, listTenants } from '../domain/tenant/tenant.service.ts'
import { wholeNumber } from './option-values.ts'
import { printTable, showProgress } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export function tenantsCommand(): Command {
  const command = new Command('tenants').description('create and list tenants')

  command
    .command('create')
    .argument('<name>', 'the name, which no other tenant has')
    .description('create a tenant and print its id')
    .action((name: string) =>
      withMigratedDatabase(async (database) => {
        const { id } = await createTenant(database, name)
        process.stdout.write(`${id}\n`)
      }),
    )

  command
    .command('list')
    .description('list the tenants')
    .action(() =>
      withMigratedDatabase(async (database) => {
        const tenants = await listTenants(database)
        printTable(
          ['ID', 'NAME', 'CREATED'],
          tenants.map(({ id, name, createdAt }) => [id, name, createdAt.toISOString()]),
        )
      }),
    )

  return command
}

const maxNumber = 2 ** 32 - 1

export function seedCommand(): Command {
  return new Command('seed')
    .description('fill a tenant with made-up users: each has 3 accounts with profiles, and 2 emails per profile')
    .requiredOption('--tenant <name>', 'the tenant to fill')
    .requiredOption('--users <count>', 'the number of users', wholeNumber(0, maxNumber))
    .option('--seed <number>', 'the same number creates the same users', wholeNumber(0, maxNumber), 1)
    .action(({ tenant: name, users, seed }: { tenant: string; users: number; seed: number }) =>
      withMigratedDatabase(async (database) => {
        const { seedTenant } = await import('../domain/seed/seed.ts')
        const { id: tenantAppId } = await findTenant(database, name)
        const progress = showProgress('Seeding', users)
        const startedAt = performance.now()
        const rows = await seedTenant(database, { tenantAppId, users, seed, onProgress: progress.update })
        progress.end()
        const seconds = (performance.now() - startedAt) / 1_000
        process.stdout.write(
          `Wrote ${rows} rows for ${users} users in ${seconds.toFixed(1)} s (${Math.round(users / seconds)} users/s).\n`,
        )
      }),
    )
}
