import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '@fusion-gateway/base'
import type { Database, TenantApp } from '@fusion-gateway/database'
import { gatherStatistics } from '@fusion-gateway/sql'
import { seedTenant } from '../../domain/seed/seed.ts'
import { deleteTenant } from '../../domain/tenant/delete-tenant.ts'
import { resumeTenant, suspendTenant } from '../../domain/tenant/suspend-tenant.ts'
import { createTenant, findTenant, findTenantToDelete, listTenants } from '../../domain/tenant/tenant.service.ts'
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
    const rows = tenants.map((tenant) => [tenant.id, tenant.name, tenant.createdAt, stateOf(tenant)])
    printTable(io.stdout, ['ID', 'NAME', 'CREATED', 'STATE'], rows)
  })
}

function stateOf({ suspendedAt, deletingSince }: TenantApp): string {
  if (deletingSince) return 'deleting'
  return suspendedAt ? 'suspended' : 'active'
}

/** The time in which gateways and workers notice that a tenant is suspended: they keep a key for three seconds. */
const noticeMilliseconds = 5_000

export function suspend(io: Io, name: string): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const tenant = await findTenant(database, name)
    await suspendTenant(database, tenant)
    if (database.driver.isShared) {
      io.stderr.write('Waiting until gateways and workers have noticed it.\n')
      await sleep(noticeMilliseconds)
      // A job can have started since.
      await suspendTenant(database, tenant)
    }
    io.stdout.write(`Suspended ${name}.\n`)
  })
}

export function resume(io: Io, name: string): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    await resumeTenant(database, await findTenant(database, name))
    io.stdout.write(`Resumed ${name}.\n`)
  })
}

/** @param options.yes the name of the tenant again */
export function remove(io: Io, name: string, { yes }: { readonly yes?: string }): Promise<void> {
  const work = async (database: Database) => {
    const { id, suspendedAt } = await findTenantToDelete(database, name)
    const quoted = JSON.stringify(name)
    if (!suspendedAt) {
      throw new OperatorError(`${name} is not suspended. Suspend it first: npm run fusion -- tenants suspend ${quoted}`)
    }
    if ((yes ?? (await askName(io, name))) !== name) {
      throw new OperatorError(`That is not the name ${name}. Nothing was deleted.`)
    }
    let progress: ReturnType<typeof showProgress> | undefined
    await deleteTenant(database, id, {
      onProgress(done, total) {
        progress ??= showProgress(io.stderr, 'Deleting', total)
        progress.update(done)
      },
    })
    progress?.end()
    io.stdout.write(`Deleted ${name} (${id}).\n`)
    io.stderr.write(`To look for rows that name it: npm run fusion -- verify erasure --tenant ${id}\n`)
  }
  return withMigratedDatabase(io, work, patient)
}

/** Asks for the name of a tenant on the terminal. @throws OperatorError if there is none */
async function askName({ stdin, stderr }: Io, name: string): Promise<string> {
  const { isTTY } = stdin as { readonly isTTY?: boolean }
  if (!isTTY) throw new OperatorError(`Give the name again: --yes ${JSON.stringify(name)}`)
  const terminal = createInterface({ input: stdin, output: stderr })
  try {
    return await terminal.question(`This deletes everything of ${name}. Type its name: `)
  } finally {
    terminal.close()
  }
}

interface SeedOptions {
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
    await gatherStatistics(database.sql)
    const seconds = (performance.now() - startedAt) / 1_000
    io.stdout.write(
      `Wrote ${rows} rows for ${users} users in ${seconds.toFixed(1)} s (${Math.round(users / seconds)} users/s).\n`,
    )
  }
  return withMigratedDatabase(io, work, patient)
}
