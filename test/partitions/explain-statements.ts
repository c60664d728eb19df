import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'

/** A statement that the suite has sent, and the partitions that it reads. */
export interface ExplainedStatement {
  readonly text: string
  /** The partitions of each table, by the name of the table. Empty if it reads no rows of tenants. */
  readonly partitions: ReadonlyMap<string, ReadonlySet<string>>
}

interface Recorded {
  readonly text: string
  readonly values: readonly unknown[]
}

interface Plan {
  readonly 'Relation Name'?: string
  readonly 'Node Type': string
  readonly Plans?: readonly Plan[]
}

/** Reads the statements that processes have recorded in a folder, each once. */
export function readStatements(folder: string): Recorded[] {
  const recorded = readdirSync(folder).flatMap((file) => readFileSync(path.join(folder, file), 'utf8').split('\n'))
  const statements = recorded.filter((line) => line !== '').map((line) => JSON.parse(line) as Recorded)
  return [...new Map(statements.map((statement) => [statement.text, statement])).values()]
}

const reads = /^\s*(--.*\n\s*)*(WITH|SELECT|INSERT|UPDATE|DELETE)\b/i

/**
 * Explains statements as the gateway executes them: with the plan for all parameters.
 *
 * @param url a partitioned database
 */
export async function explainStatements(url: string, statements: readonly Recorded[]): Promise<ExplainedStatement[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('SET plan_cache_mode = force_generic_plan')
    const tableOf = await readPartitions(client)
    const explained: ExplainedStatement[] = []
    for (const { text: sent, values } of statements) {
      // An estimate is a plan too.
      const text = sent.replace(/^EXPLAIN \(FORMAT JSON\) /, '')
      if (!reads.test(text)) continue
      const plan = await explain(client, text, values)
      explained.push({ text, partitions: partitionsIn(plan, tableOf) })
    }
    return explained
  } finally {
    await client.end()
  }
}

async function explain(client: pg.Client, text: string, values: readonly unknown[]): Promise<Plan> {
  const parameters = values.map((value) => literal(client, value))
  await client.query(`PREPARE explained AS ${text}`)
  const call = parameters.length > 0 ? `explained(${parameters.join(', ')})` : 'explained'
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE ${call}`)
  await client.query('DEALLOCATE explained')
  return rows[0]['QUERY PLAN'][0].Plan
}

function literal(client: pg.Client, value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return client.escapeLiteral(Array.isArray(value) ? arrayText(value) : String(value))
}

/** A list as PostgreSQL writes it: `{"a","b",NULL}` */
function arrayText(values: readonly unknown[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : JSON.stringify(String(value)))).join(',')}}`
}

/** The table of each partition. */
async function readPartitions(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query(
    `SELECT p.relname AS partition, t.relname AS table FROM pg_inherits JOIN pg_class p ON p.oid = inhrelid
     JOIN pg_class t ON t.oid = inhparent WHERE p.relkind = 'r'`,
  )
  return new Map(rows.map(({ partition, table }) => [partition, table]))
}

function partitionsIn(plan: Plan, tableOf: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  const visit = (node: Plan) => {
    const partition = node['Relation Name']
    const table = partition !== undefined && node['Node Type'] !== 'ModifyTable' ? tableOf.get(partition) : undefined
    if (partition !== undefined && table !== undefined) found.set(table, (found.get(table) ?? new Set()).add(partition))
    node.Plans?.forEach(visit)
  }
  visit(plan)
  return found
}
