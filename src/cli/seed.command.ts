import { Command, InvalidArgumentError } from 'commander'
import { findTenant } from '../domain/tenant/tenant.service.ts'
import { showProgress } from './progress.ts'
import { withMigratedDatabase } from './with-database.ts'

/** `fusion seed`. Its code is loaded when it is called. */
export function seedCommand(): Command {
  return new Command('seed')
    .description('fill a tenant with generated users: each has 3 accounts with profiles, and 2 emails per profile')
    .requiredOption('--tenant <name>', 'the tenant to fill')
    .requiredOption('--users <count>', 'the number of users', readInteger)
    .option('--seed <number>', 'the same number creates the same users', readInteger, 1)
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

function readInteger(text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number > 4_294_967_295) throw new InvalidArgumentError('Give a whole number.')
  return number
}
