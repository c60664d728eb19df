import { seedTenant } from '../../domain/seed/seed.ts'
import { createTenant, findTenant, listTenants } from '../../domain/tenant/tenant.service.ts'
import type { Database } from '../../engine/db/database.ts'
import type { Io } from '../io.ts'
import { printTable, showProgress } from './terminal.ts'
import { patient, withMigratedDatabase } from './with-database.ts'

export function addTenant(io: Io, name: string): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const { id } = await createTenant(database, name)
    io.stdout.write(`${id}\n`)
  })
}

export function printTenants(io: Io): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const tenants = await listTenants(database)
    const rows = tenants.map(({ id, name, createdAt }) => [id, name, createdAt])
    printTable(io.stdout, ['ID', 'NAME', 'CREATED'], rows)
  })
}

export interface SeedOptions {
  readonly tenant: string
  readonly users: number
  readonly seed: number
}

export function seed(io: Io, { tenant: name, users, seed: number }: SeedOptions): Promise<void> {
  const work = async (database: Database) => {
    const { id: tenantAppId } = await findTenant(database, name)
    const progress = showProgress(io.stderr, 'Seeding', users)
    const startedAt = performance.now()
    const rows = await seedTenant(database, { tenantAppId, users, seed: number, onProgress: progress.update })
    progress.end()
    const seconds = (performance.now() - startedAt) / 1_000
    io.stdout.write(
      `Wrote ${rows} rows for ${users} users in ${seconds.toFixed(1)} s (${Math.round(users / seconds)} users/s).\n`,
    )
  }
  return withMigratedDatabase(io, work, patient)
}
