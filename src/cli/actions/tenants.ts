import { createTenant, listTenants } from '../../domain/tenant/tenant.service.ts'
import type { Io } from '../io.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export function addTenant(io: Io, name: string): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const { id } = await createTenant(database, name)
    io.stdout.write(`${id}\n`)
  })
}

export function printTenants(io: Io): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const tenants = await listTenants(database)
    printTable(
      io.stdout,
      ['ID', 'NAME', 'CREATED'],
      tenants.map(({ id, name, createdAt }) => [id, name, createdAt.toISOString()]),
    )
  })
}
