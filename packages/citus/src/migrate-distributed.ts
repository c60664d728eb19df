import { OperatorError } from '@fusion-gateway/base'
import { type Sql, splitScript } from '@fusion-gateway/sql'
import { distributeTable } from './distribute-tables.ts'
import { equipNodes, type Run, replaceFunctions } from './each-server.ts'
import { readTables } from './layout.ts'
import { prepareNodes } from './nodes.ts'

/** The session that applies migrations. */
interface Session {
  readonly sql: Sql
  readonly run: Run
}

/**
 * Applies a migration on all nodes, in one transaction. Citus takes one statement at a time, and sends it to the nodes.
 *
 * The functions of a distributed database replace those of the migration in the same transaction, so that those of one
 * server are never in force. A new table is distributed before it has foreign keys and triggers: then Citus sends them
 * to the nodes.
 *
 * @param finish the last statement of the transaction
 */
export async function applyDistributed({ sql, run }: Session, script: string, finish: string): Promise<void> {
  const created: string[] = []
  const tables = tablesCreatedBy(script)
  await inTransaction(run, async () => {
    for (const text of splitScript(script)) {
      if (needsDistributed.test(text)) created.push(...(await distributeNew({ sql, run }, tables)))
      // Citus has no ON UPDATE for the column by which rows are distributed. No key of a row changes.
      await run(isForeignKey.test(text) ? text.replaceAll(/ ON UPDATE CASCADE\b/gi, '') : text)
    }
    created.push(...(await distributeNew({ sql, run }, tables)))
    if (changesEachServer.test(script)) await equipNodes(sql)
    if (/\bFUNCTION\b/i.test(script)) await replaceFunctions(run)
    await run(finish)
  })
  for (const name of created.toReversed()) await run(`SELECT truncate_local_data_after_distributing_table('${name}')`)
}

async function inTransaction(run: Run, work: () => Promise<void>): Promise<void> {
  await run('BEGIN')
  try {
    await run(`SET LOCAL citus.multi_shard_modify_mode = 'sequential'`)
    await run('SET LOCAL citus.enable_unsafe_triggers = on')
    await run('SET LOCAL check_function_bodies = off')
    await run('SET LOCAL client_min_messages = error')
    await work()
    await run('COMMIT')
  } catch (error) {
    await run('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/**
 * Requires nodes that can be migrated, and gives each what each server has for itself.
 *
 * @throws OperatorError naming what the nodes lack
 */
export async function prepareDistributed({ sql }: Session): Promise<void> {
  await prepareNodes(sql, [])
  await equipNodes(sql)
}

/** Puts the functions of this version in force, which a release can change without a migration. */
export function finishDistributed({ run }: Session): Promise<void> {
  return inTransaction(run, () => replaceFunctions(run))
}

/** The names of the tables that a migration creates: `CREATE TABLE "a" (…)` ⇒ `a`. */
function tablesCreatedBy(script: string): string[] {
  return [...script.matchAll(/\bCREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)/gi)].map(([, name = '']) => name)
}

const isForeignKey = /\bFOREIGN\s+KEY\b|\bREFERENCES\b/i
const needsDistributed = /\b(FOREIGN\s+KEY|TRIGGER)\b/i
const changesEachServer = /\bevent_state\b|\bSEQUENCE\b/i

/** Distributes the tables that are not. Tables on each node first: those of tenants refer to them. */
async function distributeNew({ sql, run }: Session, created: readonly string[]): Promise<string[]> {
  const tables = (await readTables(sql, created)).filter(({ isDistributed }) => !isDistributed)
  for (const table of tables.toSorted((one, other) => Number(one.isOfTenants) - Number(other.isOfTenants)))
    await distributeTable(sql, run, table)
  return tables.map(({ name }) => name)
}

const impossible: readonly [RegExp, string][] = [
  [/^DO\b/i, 'a DO block would run on one server only'],
  [/\bPARTITION\s+(BY|OF)\b/i, 'partitioned tables cannot be distributed'],
  [/\bBEGIN\s+ATOMIC\b/i, 'the body of a function must be a text'],
  [/^(INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+"?event_state\b/i, 'each server has its own row in event_state'],
  [/^CREATE\s+TABLE\b.*\bREFERENCES\b/is, 'a foreign key must be added after its table: ALTER TABLE … ADD CONSTRAINT'],
]

/**
 * Requires that migrations can be applied on a distributed database, before any of them is.
 *
 * @param migrations the scripts by their names
 * @throws OperatorError naming the migration and the statement
 */
export function requireDistributable(migrations: ReadonlyMap<string, string>): void {
  for (const [name, script] of migrations) {
    for (const text of splitScript(script)) {
      const [, reason] = impossible.find(([pattern]) => pattern.test(text)) ?? []
      if (reason === undefined) continue
      throw new OperatorError(
        `The migration ${name} cannot be applied to a distributed database: ${reason}. Nothing has changed. The statement begins: ${text.slice(0, 80).replaceAll(/\s+/g, ' ')}`,
      )
    }
  }
}
