// Runs the tests on PostgreSQL: `npm run suite -- postgres`. It records the statements that the gateway sends, and
// explains each on partitioned tables: it must read one partition. The tests that partitions can change run on such
// tables too.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deployMigrations, partitionTables } from '@fusion-gateway/migrate'
import { openDatabase } from '../../src/database.ts'
import { createDatabaseOfOwner, dropDatabase, hasServer, ownerUrl, prepareServer } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'
import { exceptions } from './exceptions.ts'
import { type ExplainedStatement, explainStatements, readStatements } from './explain-statements.ts'

const modulus = 16

/**
 * The tests whose results could differ on partitioned tables: unique and foreign keys, ON CONFLICT, rows that move
 * between partitions, triggers, claims that skip locked rows, catalogs, and plans that are made while a partition is
 * empty.
 */
const onPartitions = [
  'auth/isolation',
  'bulk/bulk-writes',
  'cli/deltas',
  'cli/seed',
  'cli/transfer.',
  'db/conflicts',
  'db/dump',
  'db/each-tenant',
  'db/lists',
  'db/upgrade',
  'differential/',
  'events/erasure',
  'events/event-log',
  'events/every-column',
  'jobs/claims',
  'jobs/fairness',
  'memory/writes',
  'resources/',
  'webhooks/fairness',
].map((file) => `test/${file}`)

if (!hasServer) {
  process.stderr.write('Set TEST_DATABASE_URL to a PostgreSQL server, with a user who can create databases.\n')
  process.exit(2)
}
const folder = mkdtempSync(path.join(tmpdir(), 'fusion-statements-'))
// The suite and the plans use the same server.
const removeServer = await prepareServer()
try {
  const args = process.argv.slice(2)
  const codes = [await runSuite(args, { TEST_SET: 'all' })]
  // Some of the tests prove nothing about all statements.
  const isWhole = !args.some((argument) => argument.startsWith('test/'))
  if (isWhole) codes.push(await runSuite(onPartitions, { TEST_SET: 'all', TEST_PARTITIONS: String(modulus) }))
  const isProved = !isWhole || report(await explain())
  process.exitCode = codes.every((code) => code === 0) && isProved ? 0 : 1
} finally {
  await removeServer()
  rmSync(folder, { recursive: true })
}

/** Runs tests, whose processes record their statements. Returns the exit code. */
async function runSuite(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const recorder = path.join(import.meta.dirname, 'record-statements.ts')
  const vitest = path.resolve(import.meta.dirname, '../../node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', ...args], {
    stdio: 'inherit',
    env: {
      ...process.env,
      TEST_STATEMENTS: folder,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${recorder}`,
      ...env,
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
