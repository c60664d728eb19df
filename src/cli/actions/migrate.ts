import { OperatorError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import {
  contract,
  createMissing,
  deployMigrations,
  grantsFor,
  partitionTables,
  readContractions,
  readMigrationStatus,
  repair,
  requireMigrations,
} from '@fusion-gateway/migrate'
import { readConfig } from '../../config.ts'
import { findTenantOrId } from '../../domain/tenant/tenant.service.ts'
import type { Io } from '../io.ts'
import { patient, reportCopyTo, withDatabase } from './with-database.ts'

interface DeployOptions {
  /** A role, which gets the statements that let it run all other commands. */
  readonly grants?: string
  /** How long it waits for others that apply migrations, in seconds. */
  readonly lockTimeout: number
  /** Whether it also drops what only the previous version needs. */
  readonly contract?: boolean
}

export async function deploy(io: Io, { grants: role, lockTimeout, contract: drops }: DeployOptions): Promise<void> {
  if (role !== undefined) requireServer(io, 'has no roles')
  await withMigrations(io, async (database) => {
    const { driver, sql } = database
    const lockMilliseconds = lockTimeout * 1_000
    const applied = await deployMigrations(database, { onCopy: reportCopyTo(io), lockMilliseconds })
    const lines = applied.length === 0 ? ['Nothing to apply.'] : applied.map((name) => `Applied ${name}`)
    const created = await repair(database, lockMilliseconds)
    lines.push(...created.map((name) => `Created the ${name}, which was missing`))
    const droppable = await readContractions(sql)
    if (drops) {
      await driver.exclusively((connector) => contract(connector, sql), lockMilliseconds)
      lines.push(...(droppable.length === 0 ? ['Nothing to drop.'] : droppable.map((name) => `Dropped ${name}`)))
    } else if (droppable.length > 0) lines.push(contractLater)
    for (const line of lines) io.stdout.write(role === undefined ? `${line}\n` : `-- ${line}\n`)
    if (role !== undefined) io.stdout.write(await grantsFor(sql, role, driver.isDistributed?.() === true))
  })
}

const contractLater =
  'When no gateway or worker of the previous version runs, drop what only it needs: npm run fusion -- migrate deploy --contract. The next release does it too.'

export function printStatus(io: Io): Promise<void> {
  return withMigrations(io, async (database) => {
    const { applied, pending, unknown, failed } = await readMigrationStatus(database.sql)
    for (const [word, names] of Object.entries({ applied, pending, unknown, failed })) {
      for (const name of names) io.stdout.write(`${word}\t${name}\n`)
    }
    // Without its migrations a database has not to have what they create.
    const missing = pending.length + failed.length > 0 ? [] : await createMissing(database)()
    for (const { name } of missing) io.stdout.write(`missing\t${name}\n`)
    if (pending.length + unknown.length + failed.length + missing.length > 0) io.exitCode = 1
  })
}

export async function partition(io: Io, { modulus }: { readonly modulus: number }): Promise<void> {
  requireServer(io, 'cannot be partitioned')
  await withMigrations(io, async (database) => {
    await requireMigrations(database)
    if (database.driver.isDistributed?.()) {
      throw new OperatorError('Partitions are not possible in a distributed database. See docs/scaling.md#citus.')
    }
    const onTable = (table: string) => void (io.stderr.isTTY && io.stderr.write(`Copying ${table}\n`))
    const { tables, rows } = await partitionTables(database.driver, { modulus, onTable })
    io.stdout.write(
      tables.length === 0
        ? 'All tables are partitioned.\n'
        : `Partitioned ${tables.join(', ')}: ${modulus} partitions each. They have ${rows} rows, as before.\n`,
    )
  })
}

export async function distribute(
  io: Io,
  { node: nodes, shards }: { readonly node: readonly string[]; readonly shards: number },
): Promise<void> {
  requireServer(io, 'cannot be distributed')
  await withMigrations(io, async (database) => {
    await requireMigrations(database)
    const onTable = (table: string) => void (io.stderr.isTTY && io.stderr.write(`Distributing ${table}\n`))
    const { distributeTables } = await import('@fusion-gateway/citus')
    const { tables, rows, isMoved } = await distributeTables(database.driver, { nodes, shards, onTable })
    io.stdout.write(
      tables.length === 0
        ? 'All tables are distributed.\n'
        : `Distributed ${tables.join(', ')}. They have ${rows} rows, as before.\n`,
    )
    if (isMoved) io.stdout.write('Shards were moved or nodes restored: new events have greater ids on all nodes.\n')
  })
}

interface MoveOptions {
  /** Its name or id. */
  readonly tenant: string
  readonly to: string
}

export async function move(io: Io, { tenant, to }: MoveOptions): Promise<void> {
  requireServer(io, 'is not distributed')
  await withMigrations(io, async (database) => {
    await requireMigrations(database)
    if (!database.driver.isDistributed?.()) {
      throw new OperatorError('The database is not distributed, so there is no other node. See docs/scaling.md#citus.')
    }
    const { id: tenantAppId, name } = await findTenantOrId(database, tenant)
    const onMove = (others: readonly string[]) =>
      io.stdout.write(
        `Moving ${[name, ...others].join(', ')}${others.length > 0 ? ': they share their shards' : ''}.\n`,
      )
    const { moveTenant } = await import('@fusion-gateway/citus')
    const from = await moveTenant(database.driver, { tenantAppId, to, onMove })
    io.stdout.write(from === undefined ? `${name} is on ${to}.\n` : `Moved from ${from} to ${to}.\n`)
  })
}

function requireServer({ env }: Io, problem: string): void {
  if (readConfig(env).database.kind === 'postgresql') return
  throw new OperatorError(`The embedded database ${problem}. Set DATABASE_URL to that of a PostgreSQL server.`)
}

/** A migration that has to wait is not a failure. */
function withMigrations(io: Io, work: (database: Database) => Promise<void>): Promise<void> {
  return withDatabase(io, work, patient)
}
