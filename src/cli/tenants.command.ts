import { Command } from 'commander'
import { createTenant, listTenants } from '../domain/tenant/tenant.service.ts'
import { printTable } from './table.ts'
import { withMigratedDatabase } from './with-database.ts'

/** `fusion tenants …` */
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
        printTable([['ID', 'NAME', 'CREATED'], ...tenants.map((t) => [t.id, t.name, t.createdAt.toISOString()])])
      }),
    )

  return command
}
