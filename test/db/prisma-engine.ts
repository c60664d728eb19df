/**
 * Replaces the binary of Prisma's schema engine, to which Prisma's command sends JSON-RPC, by the same engine as
 * WebAssembly. A closed network cannot download the binary.
 */
import { createInterface } from 'node:readline'
import { PrismaPg } from '@prisma/adapter-pg'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import pg from 'pg'
import { withSchemaEngine } from '../../tools/schema-engine.ts'

// `cli can-connect-to-database` is answered by the exit code.
if (!process.argv.includes('cli')) await serve()

async function serve(): Promise<void> {
  const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 1 })
  const executeScript = async (script: string) => void (await pool.query(script))
  const connect = async () => Object.assign(await new PrismaPg(pool).connect(), { executeScript })
  await withSchemaEngine(connect, async (engine) => {
    for await (const line of createInterface({ input: process.stdin })) {
      const { id, ...call } = JSON.parse(line)
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...(await replyTo(engine, call)) })}\n`)
    }
  })
  await pool.end()
}

interface Call {
  readonly method: 'applyMigrations' | 'diagnoseMigrationHistory' | 'markMigrationApplied' | 'markMigrationRolledBack'
  readonly params: never
}

async function replyTo(engine: SchemaEngine, { method, params }: Call): Promise<object> {
  try {
    return { result: await engine[method](params) }
  } catch (error) {
    const { message, code } = error as { readonly message: string; readonly code?: string }
    return { error: { code: 4466, message, data: { is_panic: false, message, meta: {}, error_code: code } } }
  }
}
