import type { Event } from '../../domain/event/event.ts'
import { createEventLog } from '../../domain/event/event-log.ts'
import { maxEvents } from '../../domain/event/new-events.ts'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import type { Io, Output } from '../io.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export interface EventsOptions {
  readonly tenant: string
  readonly key?: string
  readonly resource?: string
  readonly since?: Date
  readonly json?: boolean
}

export function listEvents(io: Io, options: EventsOptions): Promise<void> {
  const { tenant, key: keyId, resource: resourceId, since, json = false } = options
  return withMigratedDatabase(io, async (database) => {
    const { id: tenantAppId } = await findTenant(database, tenant)
    const log = createEventLog(database)
    const print = json ? printJson : printLines
    let after: string | undefined
    for (let count = maxEvents; count === maxEvents; ) {
      const page = await log.read({ tenantAppId, keyId, resourceId, since, after, limit: maxEvents })
      print(io.stdout, page, after === undefined)
      after = page.at(-1)?.id
      count = page.length
    }
  })
}

const header = ['ID', 'TIME', 'TYPE', 'RESOURCE', 'USER', 'KEY', 'REQUEST']

function printLines(stdout: Output, events: readonly Event[], isFirst: boolean): void {
  const rows = events.map(({ id, createdAt, type, resourceId, userId, keyId, requestId }) => [
    id,
    createdAt.toISOString(),
    type,
    resourceId,
    ...[userId, keyId, requestId].map((value) => value ?? '-'),
  ])
  printTable(stdout, isFirst ? header : [], rows)
}

function printJson(stdout: Output, events: readonly Event[]): void {
  for (const { id, type, resourceId, userId, createdAt, keyId, requestId } of events) {
    stdout.write(`${JSON.stringify({ id, type, resourceId, userId, createdAt, keyId, requestId })}\n`)
  }
}
