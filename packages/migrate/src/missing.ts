import type { Database } from '@fusion-gateway/database'
import { type Connector, Sql, statement } from '@fusion-gateway/sql'
import { readContractScript, readMigrationScripts, runConcurrent } from './migrations.ts'

/** An index or a trigger that the migrations create. */
interface Part {
  /** `index user_name_idx`, or `trigger deleted of user`. */
  readonly name: string
  readonly kind: 'index' | 'trigger'
  readonly own: string
  readonly table: string
  /** Creates it. */
  readonly script: string
}

const changes =
  /^(CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?|CREATE TRIGGER |DROP INDEX (?:CONCURRENTLY )?(?:IF EXISTS )?|DROP TRIGGER (?:IF EXISTS )?)"(\w+)"(?:[^;]*? ON "(\w+)")?[^;]*/gm

/** The indexes and triggers that scripts create and do not drop. */
function partsOf(scripts: Iterable<string>): Map<string, Part> {
  const parts = new Map<string, Part>()
  for (const text of scripts) {
    for (const [script, verb = '', own = '', table = ''] of text.matchAll(changes)) {
      const kind = verb.includes('INDEX') ? 'index' : 'trigger'
      const name = kind === 'index' ? `index ${own}` : `trigger ${own} of ${table}`
      if (verb.startsWith('DROP')) parts.delete(name)
      else parts.set(name, { name, kind, own, table, script })
    }
  }
  return parts
}

const listFound = statement(`
  SELECT 'index ' || relname FROM pg_index JOIN pg_class ON oid = indexrelid
  WHERE relnamespace = 'public'::regnamespace AND indisvalid
  UNION ALL SELECT 'trigger ' || tgname || ' of ' || relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
  WHERE relnamespace = 'public'::regnamespace AND NOT tgisinternal AND tgenabled <> 'D'`)

/**
 * Creates a function that lists what the database lacks of what its migrations have created: a restore by a role that
 * may not create extensions leaves out the indexes that need them. What only the previous release needs may be missing.
 */
export function createMissing({ driver, sql }: Pick<Database, 'driver' | 'sql'>): () => Promise<Part[]> {
  let expected: Part[] | undefined
  return async () => {
    expected ??= [...partsOf([...readMigrationScripts().values(), readContractScript()]).values()]
    const found = new Set((await sql.query(listFound)).map(([name]) => name))
    // Distributed tables have triggers of their own.
    const isDistributed = driver.isDistributed?.() === true
    return expected.filter(({ name, kind }) => !found.has(name) && !(isDistributed && kind === 'trigger'))
  }
}

/**
 * Creates what a database lacks of what its migrations have created. Indexes are created without locking their tables.
 *
 * @returns the names of what it created
 */
export async function repair({ driver, sql }: Pick<Database, 'driver' | 'sql'>, lockMilliseconds: number) {
  const readMissing = createMissing({ driver, sql })
  if ((await readMissing()).length === 0) return []
  return driver.exclusively(async (connector) => {
    // Others may have created it meanwhile.
    const missing = await readMissing()
    for (const part of missing) await create(connector, part)
    return missing.map(({ name }) => name)
  }, lockMilliseconds)
}

async function create(connector: Connector, { kind, own, table, script }: Part): Promise<void> {
  if (kind === 'trigger') {
    await connector.runScript(`DROP TRIGGER IF EXISTS "${own}" ON "${table}"; ${script}`)
    return
  }
  const concurrent = script.replace(/INDEX (CONCURRENTLY )?/, 'INDEX CONCURRENTLY ')
  await runConcurrent(connector, new Sql(connector), `DROP INDEX CONCURRENTLY IF EXISTS "${own}";\n${concurrent};`)
}
