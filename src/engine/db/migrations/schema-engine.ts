import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import { OperatorError } from '../../errors.ts'
import type { Connector } from '../driver.ts'

// A comment, a text in dollars, a text, an identifier, the end of a statement, or anything else.
const tokens = /--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|"[^"]*"|;|[\s\S]/g

/**
 * Splits a script into its statements, without comments between and in them. Bodies of functions must be quoted:
 * `BEGIN ATOMIC` is not understood.
 */
export function splitScript(script: string): string[] {
  const statements = ['']
  for (const [token] of script.matchAll(tokens)) {
    if (token === ';') statements.push('')
    else if (!token.startsWith('--') && !token.startsWith('/*')) statements.push(`${statements.pop()}${token}`)
  }
  return statements.map((text) => text.trim()).filter((text) => text !== '')
}

type Bindings = typeof import('@prisma/schema-engine-wasm/schema_engine_bg')

let loading: Promise<Bindings> | undefined

/**
 * Runs work with Prisma's schema engine, which `prisma migrate` uses, as WebAssembly over a driver adapter. It needs no
 * binary from a download server, and works on PostgreSQL and PGlite alike.
 *
 * @throws OperatorError with the message of the engine
 */
export async function withSchemaEngine<Result>(
  connector: Connector,
  schemaFile: string,
  work: (engine: SchemaEngine) => Promise<Result>,
): Promise<Result> {
  // The bindings keep their instance in a module variable; a second instance would use the memory of the first.
  loading ??= loadBindings()
  const { SchemaEngine } = await loading
  const datamodels: [string, string][] = [['schema.prisma', readFileSync(schemaFile, 'utf8')]]
  const log = () => undefined
  const engine = await SchemaEngine.new({ datamodels }, log, bindMigrationAwareSqlAdapterFactory(adaptersOf(connector)))
  try {
    return await work(engine)
  } catch (error) {
    const isOfEngine = error instanceof Error && error.name === 'SchemaConnectorError'
    // Below its message it lists its functions.
    throw isOfEngine ? new OperatorError(error.message.replace(/\n +0: .*/s, ''), { cause: error }) : error
  } finally {
    engine.free()
  }
}

/**
 * Prisma's adapters, with scripts as the connector runs them: adapter-pg 7.10 splits a script at each semicolon, even
 * in a comment or a string; pglite-prisma-adapter 0.7 neither awaits it nor reports its error.
 */
function adaptersOf(connector: Connector): SqlMigrationAwareDriverAdapterFactory {
  const { provider, adapterName } = connector.prismaAdapters
  return {
    provider,
    adapterName,
    connect: () => scriptable(connector),
    async connectToShadowDb() {
      // PGlite is loaded only where it is used.
      const { openShadow } = await import('../embedded/embedded.ts')
      return scriptable(await openShadow())
    },
  }
}

async function scriptable({ prismaAdapters, runScript }: Connector): Promise<SqlDriverAdapter> {
  const adapter = await prismaAdapters.connect()
  return Object.assign(adapter, { executeScript: runScript })
}

/** The package's own entry point imports the .wasm file as a module, which Node supports only behind a flag. */
async function loadBindings(): Promise<Bindings> {
  const bindings = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const entry = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm')
  const wasm = readFileSync(entry.replace('schema_engine.js', 'schema_engine_bg.wasm'))
  const imports = Object.fromEntries(Object.entries(bindings).map(([name, value]) => [name, unreferenced(name, value)]))
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': imports })
  bindings.__wbg_set_wasm(instance.exports)
  const { __wbindgen_start: start } = instance.exports
  if (typeof start === 'function') start()
  return bindings
}

/** The engine never clears the timer of its lock timeout, which would keep the process running for 10 s. */
function unreferenced(name: string, binding: unknown): WebAssembly.ImportValue {
  if (!name.startsWith('__wbg_setTimeout')) return binding as WebAssembly.ImportValue
  return (callback: () => void, milliseconds: number) => setTimeout(callback, milliseconds).unref()
}
