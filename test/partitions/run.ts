// Runs the suite on partitioned tables, and proves that each statement reads one partition: `npm run test:partitioned`.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openDatabase } from '../../src/engine/db/database.ts'
import { deployMigrations } from '../../src/engine/db/migrations/migrations.ts'
import { partitionTables } from '../../src/engine/db/partitions/partition-tables.ts'
import { createDatabaseOfOwner, dropDatabase, hasServer, ownerUrl, prepareServer } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'
import { exceptions } from './exceptions.ts'
import { type ExplainedStatement, explainStatements, readStatements } from './explain-statements.ts'

const modulus = 16

if (!hasServer) {
  process.stderr.write('Set TEST_DATABASE_URL to a PostgreSQL server, with a user who can create databases.\n')
  process.exit(2)
}
const folder = mkdtempSync(path.join(tmpdir(), 'fusion-statements-'))
// The suite and the plans use the same server.
const removeServer = await prepareServer()
try {
  const code = await runSuite()
  const isProved = report(await explain())
  process.exitCode = code === 0 && isProved ? 0 : 1
} finally {
  await removeServer()
  rmSync(folder, { recursive: true })
}

async function runSuite(): Promise<number> {
  const recorder = path.join(import.meta.dirname, 'record-statements.ts')
  const vitest = path.resolve(import.meta.dirname, '../../node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: {
      ...process.env,
      TEST_PARTITIONS: String(modulus),
      TEST_STATEMENTS: folder,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${recorder}`,
    },
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

async function explain(): Promise<ExplainedStatement[]> {
  const name = `fusion_partitioned_${process.pid}`
  await createDatabaseOfOwner(name)
  try {
    const database = await openDatabase(locationOf(ownerUrl(name)))
    await deployMigrations(database)
    await partitionTables(database.driver, { modulus })
    await database.close()
    return await explainStatements(ownerUrl(name), readStatements(folder))
  } finally {
    await dropDatabase(name)
  }
}

/** The numbers of the partitions that a statement reads. Rows of one tenant have the same number in each table. */
function remaindersOf({ partitions }: ExplainedStatement): Set<string | undefined> {
  return new Set([...partitions.values()].flatMap((names) => [...names].map((name) => /\d+$/.exec(name)?.[0])))
}

/** Prints what was found. Returns whether each statement reads one partition or is a known exception. */
function report(statements: readonly ExplainedStatement[]): boolean {
  const ofTenants = statements.filter(({ partitions }) => partitions.size > 0)
  const onSeveral = ofTenants.filter((statement) => remaindersOf(statement).size > 1)
  const unknown = onSeveral.filter(({ text }) => !exceptions.some(({ matches }) => matches.test(text)))
  const unused = exceptions.filter(({ matches }) => !onSeveral.some(({ text }) => matches.test(text)))
  process.stdout.write(
    `${statements.length} different statements, of which ${ofTenants.length} read rows of tenants. ` +
      `${ofTenants.length - onSeveral.length} of these read one partition of each table. ` +
      `${onSeveral.length - unknown.length} are exceptions (test/partitions/exceptions.ts).\n`,
  )
  for (const { text } of unknown) process.stdout.write(`\nThis statement reads several partitions:\n${text}\n`)
  for (const { name } of unused) process.stdout.write(`\nNo statement is the exception "${name}".\n`)
  return unknown.length === 0 && unused.length === 0 && ofTenants.length > 0
}
