import { hash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { OperatorError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { type Connector, gatherStatistics, Sql, statement } from '@fusion-gateway/sql'
import { readTenantTables } from './partition-tables.ts'

/** Whether it creates or drops indexes without locks, which PostgreSQL allows in no transaction. */
function isConcurrent(script: string): boolean {
  return /^(CREATE|DROP) INDEX CONCURRENTLY /m.test(script)
}

const createForm = /^CREATE (UNIQUE )?INDEX CONCURRENTLY "(\w+)" ON "(\w+)"(.*)$/s
const dropForm = /^DROP INDEX CONCURRENTLY IF EXISTS "(\w+)"$/
const isPartitioned = statement(`SELECT relkind = 'I' FROM pg_class WHERE oid = to_regclass(quote_ident($1))`)

/**
 * Splits a migration into statements that run one by one. PostgreSQL cannot create the index of a partitioned table
 * concurrently, so the index of each partition is created concurrently instead and attached to that of the table.
 *
 * Each index is dropped first, because an interrupted statement leaves an invalid one.
 *
 * @see https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-MAINTENANCE
 */
async function splitConcurrent(sql: Sql, script: string): Promise<string[]> {
  const tables = await readTenantTables(sql)
  const statements: string[] = []
  for (const part of script.split(/;$/m)) {
    const text = part.replace(/^(\s|--.*$)*/m, '')
    const [, dropped] = dropForm.exec(text) ?? []
    const [, unique = '', index = '', table, rest] = createForm.exec(text) ?? []
    const partitions = tables.find(({ name }) => name === table || name === `"${table}"`)?.partitions ?? []
    if (dropped !== undefined && (await sql.query(isPartitioned, [dropped]))[0]?.[0] === true) {
      statements.push(`DROP INDEX "${dropped}"`)
    } else if (partitions.length > 0) {
      statements.push(`CREATE ${unique}INDEX "${index}" ON ONLY "${table}"${rest}`)
      for (const [position, partition] of partitions.entries()) {
        const ofPartition = `"${index.slice(0, maxNameLength)}_p${position}"`
        statements.push(
          `DROP INDEX CONCURRENTLY IF EXISTS ${ofPartition}`,
          `CREATE ${unique}INDEX CONCURRENTLY ${ofPartition} ON ${partition}${rest}`,
          `ALTER INDEX "${index}" ATTACH PARTITION ${ofPartition}`,
        )
      }
    } else if (text !== '') statements.push(text)
  }
  return statements
}

/** PostgreSQL cuts names after 63 bytes. This leaves room for the number of a partition. */
const maxNameLength = 57

const extensions = ['pg_trgm', 'btree_gin']

const readFacts = statement(`
  SELECT current_user::text, current_database()::text,
    current_setting('transaction_read_only') = 'on',
    has_schema_privilege('public', 'CREATE'),
    has_database_privilege(current_database(), 'CREATE'),
    ARRAY(SELECT name FROM unnest($1::text[]) AS name WHERE name NOT IN (SELECT extname FROM pg_extension)),
    ARRAY(SELECT name FROM unnest($1::text[]) AS name WHERE name NOT IN (SELECT name FROM pg_available_extensions)),
    ARRAY(SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm') AND relname <> '_prisma_migrations'
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
      ORDER BY 1 LIMIT 4),
    EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')`)

/**
 * Requires what the migrations of a new database need, so that an operator reads what to do rather than the first
 * statement that failed.
 *
 * @param isNew whether the database has none of the migrations
 * @throws OperatorError that names what is missing
 */
async function requireDeployable(sql: Sql, isNew: boolean): Promise<void> {
  const [facts = []] = await sql.query(readFacts, [extensions])
  const [role, database, isReadOnly, mayCreateTables, mayCreateExtensions] = facts
  const [missing, unavailable, tables] = facts.slice(5, 8) as string[][] as [string[], string[], string[]]
  const hasUnicode = facts[8]
  if (isReadOnly === true) {
    throw new OperatorError('The database accepts no writes: it is a standby, or default_transaction_read_only is on.')
  }
  if (isNew && tables.length > 0) {
    throw new OperatorError(
      `The database ${database} has tables of another program: ${tables.slice(0, 3).join(', ')}${tables.length > 3 ? ', …' : ''}. ` +
        'Create a database for the gateway alone, and set DATABASE_URL to it.',
    )
  }
  if (mayCreateTables !== true) {
    throw new OperatorError(
      `The role ${role} may not create tables in the schema public. The owner of the database can allow it: GRANT USAGE, CREATE ON SCHEMA public TO "${role}"`,
    )
  }
  if (unavailable.length > 0) {
    throw new OperatorError(
      `The server has no extension ${unavailable.join(' and ')}. Install the package of PostgreSQL with the contributed extensions, such as postgresql-contrib.`,
    )
  }
  if (hasUnicode !== true) {
    throw new OperatorError(
      'The server has no collation und-x-icu: it was built without ICU. Use a build with it, as packages have it.',
    )
  }
  if (missing.length > 0 && mayCreateExtensions !== true) {
    throw new OperatorError(
      `The role ${role} may not create extensions in the database ${database}. An administrator can do it: ` +
        missing.map((name) => `CREATE EXTENSION ${name};`).join(' '),
    )
  }
}

const prismaFolder = path.resolve(import.meta.dirname, '../../../prisma')
const migrationsFolder = path.join(prismaFolder, 'migrations')

/** The migrations of this version compared with those of a database. */
export interface MigrationStatus {
  readonly applied: readonly string[]
  /** In the folder and not in the database: `migrate deploy` applies them. */
  readonly pending: readonly string[]
  /** In the database and not in the folder: those of a newer version, which this one ignores. */
  readonly unknown: readonly string[]
  /** Started and not finished, and so not applied either: see {@link deployMigrations}. */
  readonly failed: readonly string[]
}

export interface DeployOptions {
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
  const { applied, pending, failed } = await readMigrationStatus(sql)
  const isDistributed = driver.isDistributed?.() ?? false
  if (pending.length === 0 && failed.length === 0 && !isDistributed) return []
  const isNew = applied.length === 0 && failed.length === 0
  await requireDeployable(sql, isNew)
  const copy = applied.length > 0 ? await driver.copyAside?.(`before-${pending[0]}`) : undefined
  if (copy !== undefined) onCopy(copy)
  const distributed = isDistributed ? await import('@fusion-gateway/citus') : undefined
  distributed?.requireDistributable(readScripts(pending))
  return driver.exclusively(async (connector) => {
    const session: Session = { sql: new Sql(connector), run: connector.runScript, apply: distributed?.applyDistributed }
    await distributed?.prepareDistributed(session)
    if (isNew) await session.run(createHistory)
    // Another process may have applied some meanwhile.
    const { pending, failed } = await readMigrationStatus(session.sql)
    await session.sql.execute(recordRollback, [failed])
    for (const [name, script] of readScripts(pending)) await applyMigration(session, name, script)
    await distributed?.finishDistributed(session)
    if (applied.length > 0) await gatherStatistics(session.sql)
    // No gateway of another version can use the database now.
    if (applied.length === 0 || driver.copyAside !== undefined) await contract(connector, session.sql)
    return [...pending]
  }, lockMilliseconds)
}

function readScripts(names: readonly string[]): Map<string, string> {
  return new Map(names.map((name) => [name, readFileSync(path.join(migrationsFolder, name, 'migration.sql'), 'utf8')]))
}

export function readMigrationScripts(): Map<string, string> {
  return readScripts(migrationNames())
}

/** Compares the migrations folder with the database: at most two statements. */
export async function readMigrationStatus(sql: Sql): Promise<MigrationStatus> {
  const known = migrationNames()
  const rows = await readAppliedMigrations(sql, known)
  const applied = rows.filter(({ isFinished }) => isFinished).map(({ name }) => name)
  return {
    applied,
    pending: known.filter((name) => !applied.includes(name)),
    unknown: rows.map(({ name }) => name).filter((name) => !known.includes(name)),
    failed: rows.filter(({ name, isFinished }) => !isFinished && known.includes(name)).map(({ name }) => name),
  }
}

function migrationNames(): string[] {
  return readdirSync(migrationsFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}

const findTable = statement(`SELECT to_regclass('_prisma_migrations')::text`)
const listApplied = statement(
  'SELECT migration_name, finished_at IS NOT NULL FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at, migration_name',
)

interface StartedMigration {
  readonly name: string
  readonly isFinished: boolean
}

async function readAppliedMigrations(sql: Sql, known: readonly string[]): Promise<StartedMigration[]> {
  const [found] = await sql.query(findTable)
  if (found?.[0] === null) return []
  const rows = await sql.query(listApplied)
  const migrations = rows.map(([name, isFinished]) => ({ name: String(name), isFinished: isFinished === true }))
  // Other programs that use Prisma have a table of the same name.
  const isOfOthers = migrations.length > 0 && !migrations.some(({ name }) => name === known[0])
  if (isOfOthers)
    throw new OperatorError(
      `The database has migrations of another program, such as ${migrations[0]?.name}. Create a database for the gateway alone, and set DATABASE_URL to it.`,
    )
  return migrations
}

/** The table of `prisma migrate`, which can so continue a database of the gateway, and the reverse. */
const createHistory = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum VARCHAR(64) NOT NULL,
    finished_at TIMESTAMPTZ,
    migration_name VARCHAR(255) NOT NULL,
    logs TEXT,
    rolled_back_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`
const recordStart = statement('INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ($1, $2, $3)')
const recordFailure = statement('UPDATE _prisma_migrations SET logs = $2 WHERE id = $1 AND finished_at IS NULL')
const recordRollback = statement(`
  UPDATE _prisma_migrations SET rolled_back_at = now()
  WHERE migration_name = ANY ($1::text[]) AND finished_at IS NULL AND rolled_back_at IS NULL`)

interface Session {
  readonly sql: Sql
  readonly run: Connector['runScript']
  /** Applies a script on all nodes of a distributed database, and a last statement. Undefined: there is one server. */
  readonly apply: ((session: Session, script: string, finish: string) => Promise<void>) | undefined
}

async function applyMigration(session: Session, name: string, script: string): Promise<void> {
  const { sql, run, apply } = session
  const id = randomUUID()
  const finishAt = (time: string) =>
    `UPDATE _prisma_migrations SET finished_at = ${time}, applied_steps_count = 1 WHERE id = '${id}'`
  // Citus allows no function here whose result changes within a statement.
  const finish = finishAt('statement_timestamp()')
  await sql.execute(recordStart, [id, hash('sha256', script), name])
  try {
    if (isConcurrent(script)) {
      await runConcurrent({ runScript: run }, sql, script)
      await run(finish)
    } else if (apply) await apply(session, script, finish)
    else await runDespiteDeadlocks(run, `${script};\n${finishAt('clock_timestamp()')}`)
  } catch (error) {
    const message = failureOf(name, script, error)
    // The session may be lost.
    await sql.execute(recordFailure, [id, message]).catch(() => undefined)
    throw new OperatorError(message, { cause: error })
  }
}

const maxDeadlocks = 3

/** Runs a script again that was the victim of a deadlock with requests of gateways: it changed nothing. */
async function runDespiteDeadlocks(run: Session['run'], script: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await run(script)
      return
    } catch (error) {
      const isDeadlock = (error as { readonly code?: unknown }).code === '40P01'
      if (!isDeadlock || attempt > maxDeadlocks) throw error
    }
  }
}

function failureOf(name: string, script: string, error: unknown): string {
  const { message = String(error), detail } = error as { readonly message?: string; readonly detail?: string }
  return (
    `The migration ${name} failed: ${message}${detail ? `. ${detail}` : ''}\n` +
    `${isConcurrent(script) ? 'Some of its indexes may exist.' : 'It changed nothing.'} When the cause is removed, run it again: npm run fusion -- migrate deploy`
  )
}

/** The script that drops what only gateways of the previous release need. */
export function readContractScript(): string {
  return readFileSync(path.join(prismaFolder, 'contract.sql'), 'utf8')
}

const listFound = statement(`
  SELECT name FROM unnest($1::text[]) AS name
  WHERE to_regclass(quote_ident(name)) IS NOT NULL OR to_regproc(quote_ident(name)) IS NOT NULL`)

/** The indexes and functions of a database that only gateways of the previous release need. */
export async function readContractions(sql: Sql): Promise<string[]> {
  const names = [...readContractScript().matchAll(/^DROP (?:INDEX|FUNCTION).* "(\w+)"/gm)].map(
    ([, name]) => name as string,
  )
  return (await sql.query(listFound, [names])).map(([name]) => String(name))
}

/** Drops what only gateways of the previous release need. It can be repeated. */
export async function contract(connector: Pick<Connector, 'runScript'>, sql: Sql): Promise<void> {
  await runConcurrent(connector, sql, readContractScript())
}

/** Runs a script with CONCURRENTLY: its statements one by one. */
export async function runConcurrent(connector: Pick<Connector, 'runScript'>, sql: Sql, script: string): Promise<void> {
  for (const one of await splitConcurrent(sql, script)) await connector.runScript(one)
}

/**
 * Requires that the database has every migration of this version.
 *
 * @throws OperatorError naming the missing migrations and the command that applies them
 */
export async function requireMigrations({ sql }: Pick<Database, 'sql'>): Promise<void> {
  const { pending } = await readMigrationStatus(sql)
  if (pending.length > 0) {
    throw new OperatorError(
      `The database lacks ${pending.length} migration(s): ${pending.join(', ')}\n` +
        'Apply them with: npm run fusion -- migrate deploy',
    )
  }
}
