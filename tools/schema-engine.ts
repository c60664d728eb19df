import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { createPglite, createPool } from '@fusion-gateway/embedded'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
} from '@prisma/driver-adapter-utils'
import type { DiffTarget, MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm'
import pg from 'pg'

const prismaFolder = path.resolve(import.meta.dirname, '../prisma')
const schema = { path: 'schema.prisma', content: readFileSync(path.join(prismaFolder, 'schema.prisma'), 'utf8') }

const noFilters = { externalTables: [], externalEnums: [] }

/** The migrations, as the engine takes them. */
function listMigrations(): MigrationList {
  const baseDir = path.join(prismaFolder, 'migrations')
  const names = readdirSync(baseDir).filter((name) => /^\d/.test(name))
  const scriptOf = (name: string) => readFileSync(path.join(baseDir, name, 'migration.sql'), 'utf8')
  return {
    baseDir,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    migrationDirectories: names.sort().map((name) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: scriptOf(name) } },
    })),
    shadowDbInitScript: '',
  }
}

/**
 * Replays the migrations in memory.
 *
 * @returns the SQL that they lack compared with schema.prisma; undefined if they agree
 */
export async function diffMigrationsAndSchema(): Promise<string | undefined> {
  const pglite = await createPglite({})
  const work = async (engine: SchemaEngine) => {
    const from: DiffTarget = { tag: 'migrations', ...listMigrations() }
    const to: DiffTarget = { tag: 'schemaDatamodel', files: [schema] }
    const result = await engine.diff({ from, to, script: true, exitCode: true, filters: noFilters })
    return result.exitCode === 0 ? undefined : (result.stdout ?? '')
  }
  const executeScript = async (script: string) => void (await pglite.exec(script.replaceAll(' CONCURRENTLY ', ' ')))
  const connect = async () => Object.assign(await readingCatalog(createPool(pglite)), { executeScript })
  return withSchemaEngine(connect, work).finally(() => pglite.close())
}

const { CHAR, TEXT } = pg.types.builtins

/** Prisma's adapter, which does not know the type "char" of the catalog (7.10). The engine reads it. */
async function readingCatalog(pool: pg.Pool): Promise<SqlDriverAdapter> {
  let isChar: readonly boolean[] = []
  const { query } = pool
  const send = async (sent: pg.QueryArrayConfig) => {
    const { fields, ...result } = await query(sent)
    isChar = fields.map(({ dataTypeID }) => dataTypeID === CHAR)
    return { ...result, fields: fields.map((field, index) => (isChar[index] ? { ...field, dataTypeID: TEXT } : field)) }
  }
  const adapter = await new PrismaPg(Object.assign(pool, { query: send })).connect()
  const queryRaw: SqlDriverAdapter['queryRaw'] = async (sent) => {
    const { columnTypes, ...result } = await adapter.queryRaw(sent)
    return {
      ...result,
      columnTypes: columnTypes.map((type, index) => (isChar[index] ? ColumnTypeEnum.Character : type)),
    }
  }
  return Object.assign(Object.create(adapter), { queryRaw })
}

let loading: ReturnType<typeof loadBindings> | undefined

/**
 * Runs work with Prisma's schema engine, which `prisma migrate` uses, as WebAssembly. So it needs no binary from a
 * download server. The gateway applies migrations without it.
 *
 * @param connect returns an adapter whose `executeScript` takes any script. That of Prisma splits it at each semicolon,
 *   even in a comment or a string
 */
export async function withSchemaEngine<Result>(
  connect: () => Promise<SqlDriverAdapter>,
  work: (engine: SchemaEngine) => Promise<Result>,
): Promise<Result> {
  // The bindings keep their instance in a module variable; a second instance would use the memory of the first.
  loading ??= loadBindings()
  const { SchemaEngine } = await loading
  const datamodels: [string, string][] = [[schema.path, schema.content]]
  const adapters = bindMigrationAwareSqlAdapterFactory({
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect,
    connectToShadowDb: connect,
  })
  const engine = await SchemaEngine.new({ datamodels }, () => undefined, adapters)
  try {
    return await work(engine)
  } finally {
    engine.free()
  }
}

/** The package's own entry point imports the .wasm file as a module, which Node supports only behind a flag. */
async function loadBindings() {
  const bindings = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const entry = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm')
  const wasm = readFileSync(entry.replace('schema_engine.js', 'schema_engine_bg.wasm'))
  const imports = Object.fromEntries(Object.entries(bindings)) as WebAssembly.ModuleImports
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': imports })
  bindings.__wbg_set_wasm(instance.exports)
  const { __wbindgen_start: start } = instance.exports
  if (typeof start === 'function') start()
  return bindings
}
