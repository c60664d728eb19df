import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { SqlMigrationAwareDriverAdapterFactory, SqlQueryable } from '@prisma/driver-adapter-utils'
import type { DiffTarget, MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm'
import type { Database } from './database.ts'
import { startSchemaEngine } from './schema-engine.ts'

const prismaFolder = path.resolve(import.meta.dirname, '../../prisma')
const migrationsFolder = path.join(prismaFolder, 'migrations')
const schemaFile = path.join(prismaFolder, 'schema.prisma')
const lockfile = { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' }
const everything = { externalTables: [], externalEnums: [] }

/** Where a database stands against the migrations of this version. */
export interface MigrationStatus {
  readonly applied: readonly string[]
  /** In the folder, not in the database: `migrate deploy` applies them. */
  readonly pending: readonly string[]
  /** In the database, not in the folder: a newer version has migrated it. */
  readonly unknown: readonly string[]
  /** Begun and not finished: somebody has to look. */
  readonly failed: readonly string[]
}

/**
 * Applies the pending migrations, one gateway at a time.
 *
 * @returns the names of those applied now, in order
 * @throws what the database answered to the statement that failed; the migration then counts as failed
 */
export function deployMigrations({ driver, sql }: Database): Promise<string[]> {
  return driver.exclusively((adapters) =>
    withEngine(adapters, async (engine) => {
      if (driver.undoesInterruptedMigrations) {
        const { failed } = await readMigrationStatus(sql)
        for (const migrationName of failed) await engine.markMigrationRolledBack({ migrationName })
      }
      const { appliedMigrationNames } = await engine.applyMigrations({
        migrationsList: listMigrations(),
        filters: everything,
      })
      return appliedMigrationNames
    }),
  )
}

/** Compares the migrations folder with what the database says was applied: at most two statements, no engine. */
export async function readMigrationStatus(sql: SqlQueryable): Promise<MigrationStatus> {
  const known = migrationNames()
  const rows = await readAppliedMigrations(sql)
  const applied = rows.filter(({ finished }) => finished).map(({ name }) => name)
  return {
    applied,
    pending: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
    failed: rows.filter(({ finished }) => !finished).map(({ name }) => name),
  }
}

/**
 * Writes the migration that takes the existing ones to schema.prisma. It touches no database but one in memory.
 *
 * @param name a few words, which become part of the folder's name
 * @returns the new file's path; undefined when nothing has changed
 */
export async function createMigration(
  adapters: SqlMigrationAwareDriverAdapterFactory,
  name: string,
): Promise<string | undefined> {
  const sql = await diffMigrationsAndSchema(adapters)
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
 * Notes that a failed migration has left nothing behind, or that somebody has cleaned up after it, so that the next
 * deploy runs it again.
 *
 * @throws when the migration has not failed
 */
export function markMigrationRolledBack({ driver }: Database, migrationName: string): Promise<void> {
  return driver.exclusively((adapters) =>
    withEngine(adapters, async (engine) => {
      await engine.markMigrationRolledBack({ migrationName })
    }),
  )
}

/** The SQL that would take the migrations to schema.prisma; undefined when they agree. */
export function diffMigrationsAndSchema(adapters: SqlMigrationAwareDriverAdapterFactory): Promise<string | undefined> {
  return withEngine(adapters, async (engine) => {
    const migrations = listMigrations()
    const from: DiffTarget =
      migrations.migrationDirectories.length === 0 ? { tag: 'empty' } : { tag: 'migrations', ...migrations }
    const files = [{ path: 'schema.prisma', content: readFileSync(schemaFile, 'utf8') }]
    const to: DiffTarget = { tag: 'schemaDatamodel', files }
    const result = await engine.diff({ from, to, script: true, exitCode: true, filters: everything })
    return result.exitCode === 0 ? undefined : (result.stdout ?? '')
  })
}

async function withEngine<Result>(
  adapters: SqlMigrationAwareDriverAdapterFactory,
  work: (engine: SchemaEngine) => Promise<Result>,
): Promise<Result> {
  const engine = await startSchemaEngine(adapters, readFileSync(schemaFile, 'utf8'))
  try {
    return await work(engine)
  } finally {
    engine.free()
  }
}

function migrationNames(): string[] {
  if (!existsSync(migrationsFolder)) return []
  return readdirSync(migrationsFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
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

async function readAppliedMigrations(sql: SqlQueryable): Promise<{ name: string; finished: boolean }[]> {
  const query = (text: string) => sql.queryRaw({ sql: text, args: [], argTypes: [] })
  const table = await query(`SELECT to_regclass('_prisma_migrations')::text`)
  if (table.rows[0]?.[0] === null) return []
  const { rows } = await query(
    `SELECT migration_name, finished_at IS NOT NULL FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
  )
  return rows.map(([name, finished]) => ({ name: String(name), finished: finished === true }))
}
