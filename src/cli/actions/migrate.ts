import { readConfig } from '../../config.ts'
import { findTenantOrId } from '../../domain/tenant/tenant.service.ts'
import { type Database, openDatabase } from '../../engine/db/database.ts'
import { distributeTables } from '../../engine/db/distribution/distribute-tables.ts'
import { moveTenant } from '../../engine/db/distribution/move-tenant.ts'
import type { Driver } from '../../engine/db/driver.ts'
import { grantsFor } from '../../engine/db/migrations/grants.ts'
import {
  contract,
  createMigration,
  deployMigrations,
  markMigrationRolledBack,
  readContractions,
  readMigrationStatus,
  requireMigrations,
} from '../../engine/db/migrations/migrations.ts'
import { partitionTables } from '../../engine/db/partitions/partition-tables.ts'
import { OperatorError } from '../../engine/errors.ts'
import type { Io } from '../io.ts'
import { patient, reportCopyTo, withDatabase } from './with-database.ts'

/**
 * @param role gets the statements that let it run all other commands
 * @param lockMilliseconds how long it waits for others that apply migrations
 */
export async function deploy(io: Io, role: string | undefined, lockMilliseconds: number): Promise<void> {
  if (role !== undefined) requireServer(io, 'has no roles')
  await withMigrations(io, async (database) => {
    const applied = await deployMigrations(database, { onCopy: reportCopyTo(io), lockMilliseconds })
    const lines = applied.length === 0 ? ['Nothing to apply.'] : applied.map((name) => `Applied ${name}`)
    if ((await readContractions(database.sql)).length > 0) lines.push(contractLater)
    for (const line of lines) io.stdout.write(role === undefined ? `${line}\n` : `-- ${line}\n`)
    if (role !== undefined) io.stdout.write(await grantsFor(database.sql, role))
  })
}

const contractLater =
  'When no gateway or worker of the previous version runs, drop what only it needs: npm run fusion -- migrate contract. The next release does it too.'

export function contractNow(io: Io): Promise<void> {
  return withMigrations(io, async ({ driver, sql }) => {
    await requireMigrations({ sql })
    const names = await readContractions(sql)
    await driver.exclusively((connector) => contract(connector, sql))
    io.stdout.write(names.length === 0 ? 'Nothing to drop.\n' : names.map((name) => `Dropped ${name}\n`).join(''))
  })
}

export function printStatus(io: Io): Promise<void> {
  return withMigrations(io, async (database) => {
    const { applied, pending, unknown, failed } = await readMigrationStatus(database.sql)
    for (const [word, names] of Object.entries({ applied, pending, unknown, failed })) {
      for (const name of names) io.stdout.write(`${word}\t${name}\n`)
    }
    if (pending.length + unknown.length + failed.length > 0) io.exitCode = 1
  })
}

export function resolve(io: Io, name: string): Promise<void> {
  return withMigrations(io, async (database) => {
    const { failed } = await readMigrationStatus(database.sql)
    if (!failed.includes(name)) throw new OperatorError(`${name} has not failed. See: npm run fusion -- migrate status`)
    await markMigrationRolledBack(database, name)
    io.stdout.write(`Resolved ${name}\n`)
  })
}

export async function partition(io: Io, modulus: number): Promise<void> {
  requireServer(io, 'cannot be partitioned')
  await withMigrations(io, async (database) => {
    await requireMigrations(database)
    refuseDistributed(database.driver, 'Partitions are not possible in')
    const onTable = (table: string) => void (io.stderr.isTTY && io.stderr.write(`Copying ${table}\n`))
    const { tables, rows } = await partitionTables(database.driver, { modulus, onTable })
    io.stdout.write(
      tables.length === 0
        ? 'All tables are partitioned.\n'
        : `Partitioned ${tables.join(', ')}: ${modulus} partitions each. They have ${rows} rows, as before.\n`,
    )
  })
}

export async function distribute(io: Io, nodes: readonly string[], shards: number): Promise<void> {
  requireServer(io, 'cannot be distributed')
  await withMigrations(io, async (database) => {
    await requireMigrations(database)
    const onTable = (table: string) => void (io.stderr.isTTY && io.stderr.write(`Distributing ${table}\n`))
    const { tables, rows, isMoved } = await distributeTables(database.driver, { nodes, shards, onTable })
    io.stdout.write(
      tables.length === 0
        ? 'All tables are distributed.\n'
        : `Distributed ${tables.join(', ')}. They have ${rows} rows, as before.\n`,
    )
    if (isMoved) io.stdout.write('Shards were moved or nodes restored: new events have greater ids on all nodes.\n')
  })
}

export interface MoveOptions {
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
    const from = await moveTenant(database.driver, { tenantAppId, to, onMove })
    io.stdout.write(from === undefined ? `${name} is on ${to}.\n` : `Moved from ${from} to ${to}.\n`)
  })
}

export async function writeMigration({ stdout }: Io, name: string): Promise<void> {
  const database = await openDatabase({ kind: 'embedded', dataDir: 'memory' })
  try {
    const file = await createMigration(database.driver, name)
    stdout.write(file === undefined ? 'The migrations match schema.prisma.\n' : `Wrote ${file}\n`)
  } finally {
    await database.close()
  }
}

function requireServer({ env }: Io, problem: string): void {
  if (readConfig(env).database.kind === 'postgresql') return
  throw new OperatorError(`The embedded database ${problem}. Set DATABASE_URL to that of a PostgreSQL server.`)
}

function refuseDistributed(driver: Driver, problem: string): void {
  if (driver.isDistributed?.()) throw new OperatorError(`${problem} a distributed database. See docs/scaling.md#citus.`)
}

/** A migration that has to wait is not a failure. */
function withMigrations(io: Io, work: (database: Database) => Promise<void>): Promise<void> {
  return withDatabase(io, work, patient)
}
