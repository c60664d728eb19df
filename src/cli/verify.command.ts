import { Command } from 'commander'
import { findMentions } from '../domain/erasure/find-mentions.ts'
import { findTenant } from '../domain/tenant/tenant.service.ts'
import type { Database } from '../engine/db/database.ts'
import { readFilledText } from './option-values.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

interface ErasureOptions {
  readonly user: string
  readonly tenant?: string
  readonly text: readonly string[]
  readonly json?: boolean
}

/** A statement reads every column of a table, which can take an hour. */
const statementMilliseconds = 3_600_000

export function verifyCommand(): Command {
  const command = new Command('verify').description('check what the gateway promises about its data')
  command
    .command('erasure')
    .description('look for a deleted user in every column of every table. Exits with 1 if one names the user')
    .requiredOption('--user <id>', 'the id of the user', readFilledText)
    .option('--tenant <name>', 'the tenant of the user; all tenants by default')
    .option('--text <text>', 'a further text to look for, such as an email address; can be repeated', collect, [])
    .option('--json', 'print a JSON object per line')
    .action((options: ErasureOptions) =>
      withMigratedDatabase((database) => verifyErasure(database, options), { statementMilliseconds }),
    )
  return command
}

async function verifyErasure(
  database: Database,
  { user: userId, tenant, text: texts, json }: ErasureOptions,
): Promise<void> {
  const tenantAppId = tenant === undefined ? undefined : (await findTenant(database, tenant)).id
  const mentions = await findMentions(database, { userId, texts, ...(tenantAppId && { tenantAppId }) })
  if (json) for (const mention of mentions) process.stdout.write(`${JSON.stringify(mention)}\n`)
  else if (mentions.length > 0) {
    const rows = mentions.map(({ table, column, rows, isKept }) => [
      table,
      column,
      String(rows),
      isKept ? 'kept' : 'found',
    ])
    printTable(['TABLE', 'COLUMN', 'ROWS', 'STATE'], rows)
  }
  const isErased = mentions.every(({ isKept }) => isKept)
  if (!isErased) process.exitCode = 1
  process.stderr.write(
    isErased
      ? `No row names ${userId}, except for the ids in the event log.\n`
      : `Some rows name ${userId}. The gateway erases what names a deleted user within seconds, and what a running job has when the job ends.\n`,
  )
}

function collect(text: string, others: readonly string[]): string[] {
  return [...others, readFilledText(text)]
}
