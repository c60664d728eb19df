import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { DiffTarget, MigrationFile, MigrationList } from '@prisma/schema-engine-wasm'
import { OperatorError } from '../../errors.ts'
import { type Connector, createAdapters } from '../adapter.ts'
import type { Database } from '../database.ts'
import type { Driver } from '../driver.ts'
import { query, statement } from '../statement.ts'
import { isConcurrent, splitConcurrent } from './concurrent-indexes.ts'
import { contract } from './contract.ts'
import { requireDeployable } from './require-deployable.ts'
import { withSchemaEngine } from './schema-engine.ts'

const prismaFolder = path.resolve(import.meta.dirname, '../../../../prisma')
const migrationsFolder = path.join(prismaFolder, 'migrations')
const schemaFile = path.join(prismaFolder, 'schema.prisma')
const lockfile = { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' }
const noFilters = { externalTables: [], externalEnums: [] }

/** The migrations of this version compared with those of a database. */
export interface MigrationStatus {
  readonly applied: readonly string[]
  /** In the folder and not in the database: `migrate deploy` applies them. */
  readonly pending: readonly string[]
  /**
   * In the database and not in the folder: a newer version has applied them, or has tried to. This version ignores
   * them.
   */
  readonly unknown: readonly string[]
  /** Started and not finished, and so not applied either: see {@link deployMigrations}. */
  readonly failed: readonly string[]
}

export interface DeployOptions {
  /** Called with the folder of the copy. */
  readonly onCopy?: (folder: string) => void
  /** How long it waits for others who apply migrations. */
  readonly lockMilliseconds?: number
}

/**
 * Applies the pending migrations. Gateways that do so at the same time wait for each other.
 *
 * A migration and the record that it is finished are one transaction, so a migration that failed or was interrupted
 * changed nothing, and runs again. The statements of a migration with CONCURRENTLY run one by one instead, and can be
 * repeated: see {@link splitConcurrent}.
 *
 * What only gateways of the previous release need stays, unless there can be none: see {@link contract}.
 *
 * A database in a folder is copied first, so that the previous version can be started with the copy.
 *
 * @returns the names of the migrations applied now, in order
 * @throws OperatorError naming the migration that failed, with the database's message; or saying why none can be
 *   applied
 */
export async function deployMigrations(
  { driver, sql }: Pick<Database, 'driver' | 'sql'>,
  { onCopy = () => undefined, lockMilliseconds }: DeployOptions = {},
): Promise<string[]> {
  // Most starts have nothing to apply. They do not load the schema engine.
  const { applied, pending, failed } = await readMigrationStatus(sql)
  if (pending.length === 0 && failed.length === 0) return []
  if (driver.isDistributed?.()) {
    throw new OperatorError(
      `The tables are distributed, and migrations of a distributed database are not supported yet: ${pending.join(', ')}. Export, and import into a new database of the new version.`,
    )
  }
  await requireDeployable(sql, applied.length === 0 && failed.length === 0)
  const copy = applied.length > 0 ? await driver.copyAside?.(`before-${pending[0]}`) : undefined
  if (copy !== undefined) onCopy(copy)
  const migrationsList = listMigrations()
  // The engine's own error does not have the message of the database.
  let failure: OperatorError | undefined
  return driver.exclusively((connector) => {
    const finishingConnector = finishing({ connector, sql }, migrationsList, (error) => {
      failure = error
    })
    return withSchemaEngine(createAdapters(finishingConnector), schemaFile, async (engine) => {
      const { failed } = await readMigrationStatus(sql)
      for (const migrationName of failed) await engine.markMigrationRolledBack({ migrationName })
      const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList, filters: noFilters })
      // No gateway of another version can use the database now.
      if (applied.length === 0 || driver.copyAside !== undefined) await contract(connector, sql)
      return appliedMigrationNames
    }).catch((error: unknown) => {
      throw failure ?? error
    })
  }, lockMilliseconds)
}

/**
 * The connector with which the script of a migration also records that the migration is finished. PostgreSQL runs a
 * script as one transaction. The schema engine records it later, when it cannot know whether an interrupted migration
 * has run.
 */
function finishing(
  { connector, sql }: { connector: Connector; sql: SqlQueryable },
  { migrationDirectories }: MigrationList,
  onFailure: (failure: OperatorError) => void,
): Connector {
  const names = new Map(migrationDirectories.map(({ path: name, migrationFile }) => [contentOf(migrationFile), name]))
  return {
    ...connector,
    async runScript(script) {
      const name = names.get(script)
      if (name === undefined) return connector.runScript(script)
      const finish = `UPDATE _prisma_migrations SET finished_at = now()
        WHERE migration_name = '${name}' AND finished_at IS NULL AND rolled_back_at IS NULL`
      try {
        if (isConcurrent(script)) {
          for (const statement of await splitConcurrent(sql, script)) await connector.runScript(statement)
          await connector.runScript(finish)
        } else await connector.runScript(`${script};\n${finish}`)
      } catch (error) {
        onFailure(new OperatorError(failureOf(name, script, error), { cause: error }))
        throw error
      }
    },
  }
}

function failureOf(name: string, script: string, error: unknown): string {
  return (
    `The migration ${name} failed: ${error instanceof Error ? error.message : String(error)}\n` +
    `${isConcurrent(script) ? 'Some of its indexes may exist.' : 'It changed nothing.'} When the cause is removed, run it again: npm run fusion -- migrate deploy`
  )
}

function contentOf({ content }: MigrationFile): string {
  return content.tag === 'ok' ? content.value : ''
}

/** Compares the migrations folder with the database: at most two statements. */
export async function readMigrationStatus(sql: SqlQueryable): Promise<MigrationStatus> {
  const known = migrationNames()
  const rows = await readAppliedMigrations(sql)
  const applied = rows.filter(({ isFinished }) => isFinished).map(({ name }) => name)
  return {
    applied,
    pending: known.filter((name) => !applied.includes(name)),
    unknown: rows.map(({ name }) => name).filter((name) => !known.includes(name)),
    failed: rows.filter(({ name, isFinished }) => !isFinished && known.includes(name)).map(({ name }) => name),
  }
}

/**
 * Writes a migration with the changes of schema.prisma since the last migration. It replays the migrations in a
 * database in memory and touches no other.
 *
 * @param name a few words, which become part of the folder's name
 * @returns the path of the new file; undefined if nothing has changed
 */
export async function createMigration(driver: Driver, name: string): Promise<string | undefined> {
  const sql = await diffMigrationsAndSchema(driver)
  if (sql === undefined) return undefined
  const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  const words = name.toLowerCase().match(/[a-z0-9]+/g)
  const folder = path.join(migrationsFolder, [stamp, ...(words ?? ['migration'])].join('_'))
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(migrationsFolder, lockfile.path), lockfile.content)
  const file = path.join(folder, 'migration.sql')
  writeFileSync(file, sql)
  return file
}

/**
 * Records that a failed migration left nothing behind, or that an operator has cleaned up after it. The next deploy
 * runs it again.
 *
 * @throws if the migration has not failed
 */
export function markMigrationRolledBack({ driver }: Pick<Database, 'driver'>, migrationName: string): Promise<void> {
  return driver.exclusively((connector) =>
    withSchemaEngine(createAdapters(connector), schemaFile, async (engine) => {
      await engine.markMigrationRolledBack({ migrationName })
    }),
  )
}

/** The SQL that the migrations lack compared with schema.prisma; undefined if they agree. */
export function diffMigrationsAndSchema(driver: Driver): Promise<string | undefined> {
  return withSchemaEngine(createAdapters(driver), schemaFile, async (engine) => {
    const migrations = listMigrations()
    const from: DiffTarget =
      migrations.migrationDirectories.length === 0 ? { tag: 'empty' } : { tag: 'migrations', ...migrations }
    const files = [{ path: 'schema.prisma', content: readFileSync(schemaFile, 'utf8') }]
    const to: DiffTarget = { tag: 'schemaDatamodel', files }
    const result = await engine.diff({ from, to, script: true, exitCode: true, filters: noFilters })
    return result.exitCode === 0 ? undefined : (result.stdout ?? '')
  })
}

function migrationNames(): string[] {
  if (!existsSync(migrationsFolder)) return []
  return readdirSync(migrationsFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}

function listMigrations(): MigrationList {
  return {
    baseDir: migrationsFolder,
    lockfile,
    migrationDirectories: migrationNames().map((name) => ({
      path: name,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok', value: readFileSync(path.join(migrationsFolder, name, 'migration.sql'), 'utf8') },
      },
    })),
    shadowDbInitScript: '',
  }
}

const findTable = statement(`SELECT to_regclass('_prisma_migrations')::text`)
const listApplied = statement(
  'SELECT migration_name, finished_at IS NOT NULL FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at',
)

async function readAppliedMigrations(sql: SqlQueryable): Promise<{ name: string; isFinished: boolean }[]> {
  const [found] = await query(sql, findTable)
  if (found?.[0] === null) return []
  const rows = await query(sql, listApplied)
  const migrations = rows.map(([name, isFinished]) => ({ name: String(name), isFinished: isFinished === true }))
  // Other programs that use Prisma have a table of the same name.
  const isOfOthers = migrations.length > 0 && !migrations.some(({ name }) => name === migrationNames()[0])
  if (isOfOthers)
    throw new OperatorError(
      `The database has migrations of another program, such as ${migrations[0]?.name}. Create a database for the gateway alone, and set DATABASE_URL to it.`,
    )
  return migrations
}
