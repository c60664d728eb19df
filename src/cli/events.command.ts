import { Command } from 'commander'
import type { Event } from '../domain/event/event.ts'
import { createEventLog, maxEvents } from '../domain/event/event-log.ts'
import { findTenant } from '../domain/tenant/tenant.service.ts'
import { readSince } from './option-values.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

interface EventsOptions {
  readonly tenant: string
  readonly key?: string
  readonly resource?: string
  readonly since?: Date
  readonly json?: boolean
}

export function eventsCommand(): Command {
  return new Command('events')
    .description('list what has changed in a tenant, oldest first, and who changed it')
    .requiredOption('--tenant <name>', 'the tenant')
    .option('--key <id>', 'only changes by this key and its tokens')
    .option('--resource <id>', 'only changes of this user, account, profile or job')
    .option(
      '--since <when>',
      'a date (2027-01-31), a time (2027-01-31T08:00:00Z), or a time ago (15m, 12h, 90d)',
      readSince,
    )
    .option('--json', 'print a JSON object per line')
    .action(({ tenant, key: keyId, resource: resourceId, since, json = false }: EventsOptions) =>
      withMigratedDatabase(async (database) => {
        const { id: tenantAppId } = await findTenant(database, tenant)
        const log = createEventLog(database)
        const print = json ? printJson : printLines
        let after: string | undefined
        for (let count = maxEvents; count === maxEvents; ) {
          const page = await log.read({ tenantAppId, keyId, resourceId, since, after, limit: maxEvents })
          print(page, after === undefined)
          after = page.at(-1)?.id
          count = page.length
        }
      }),
    )
}

const header = ['ID', 'TIME', 'TYPE', 'RESOURCE', 'USER', 'KEY', 'REQUEST']

function printLines(events: readonly Event[], isFirst: boolean): void {
  const rows = events.map(({ id, createdAt, type, resourceId, userId, keyId, requestId }) => [
    ...[id, createdAt.toISOString(), type, resourceId],
    ...[userId, keyId, requestId].map((value) => value ?? '-'),
  ])
  printTable(isFirst ? header : [], rows)
}

function printJson(events: readonly Event[]): void {
  for (const { id, type, resourceId, userId, createdAt, keyId, requestId } of events) {
    process.stdout.write(`${JSON.stringify({ id, type, resourceId, userId, createdAt, keyId, requestId })}\n`)
  }
}
