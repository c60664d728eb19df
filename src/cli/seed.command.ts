import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError } from 'commander'
import { seedTenant } from '../seed/seed.ts'
import { findTenant } from '../tenant/tenant.service.ts'
import { withMigratedDatabase } from './with-database.ts'

/** `fusion seed` */
export function seedCommand(): Command {
  return new Command('seed')
    .description('fill a tenant with made-up users: each with 3 accounts, their profiles, 2 emails a profile')
    .requiredOption('--tenant <name>', 'the tenant to fill')
    .requiredOption('--users <count>', 'how many users', readWholeNumber)
    .option('--seed <number>', 'the same number makes the same users', readWholeNumber, 1)
    .action(({ tenant: name, users, seed }: { tenant: string; users: number; seed: number }) =>
      withMigratedDatabase(async (database) => {
        const tenant = await findTenant(database, name)
        // On stderr, and only where somebody looks: in a pipe it would be noise.
        const bar = new SingleBar({ format: '{bar} {percentage}% {value}/{total} users, {eta_formatted} left' })
        const started = performance.now()
        if (process.stderr.isTTY) bar.start(users, 0)
        const onProgress = (done: number) => bar.update(done)
        const rows = await seedTenant(database, { tenantAppId: tenant.id, users, seed, onProgress })
        bar.stop()
        const seconds = (performance.now() - started) / 1_000
        process.stdout.write(
          `Wrote ${rows} rows for ${users} users in ${seconds.toFixed(1)} s (${Math.round(users / seconds)} users/s).\n`,
        )
      }),
    )
}

function readWholeNumber(text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number > 4_294_967_295) throw new InvalidArgumentError('Give a whole number.')
  return number
}
