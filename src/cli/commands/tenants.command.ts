import { Command } from 'commander'
import type { SeedOptions } from '../actions/seed.ts'
import type { Io } from '../io.ts'
import { wholeNumber } from './option-values.ts'

export function tenantsCommand(io: Io): Command {
  const command = new Command('tenants').description('create and list tenants')

  command
    .command('create')
    .argument('<name>', 'the name, which no other tenant has')
    .description('create a tenant and print its id')
    .action(async (name: string) => (await import('../actions/tenants.ts')).addTenant(io, name))

  command
    .command('list')
    .description('list the tenants')
    .action(async () => (await import('../actions/tenants.ts')).printTenants(io))

  return command
}

const maxNumber = 2 ** 32 - 1

export function seedCommand(io: Io): Command {
  return new Command('seed')
    .description('fill a tenant with made-up users: each has 3 accounts with profiles, and 2 emails per profile')
    .requiredOption('--tenant <name>', 'the tenant to fill')
    .requiredOption('--users <count>', 'the number of users', wholeNumber(0, maxNumber))
    .option('--seed <number>', 'the same number creates the same users', wholeNumber(0, maxNumber), 1)
    .action(async (options: SeedOptions) => (await import('../actions/seed.ts')).seed(io, options))
}
