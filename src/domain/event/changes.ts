import type { Database } from '../../engine/db/database.ts'
import { query, type Statement, statement } from '../../engine/db/statement.ts'
import { OperatorError } from '../../engine/errors.ts'
import type { EventType } from './event.ts'
import { horizonOf } from './horizon.ts'

// What has changed since a position in the log. Unlike followers, a delta reads the rows and the log in one snapshot,
// and so also the events at the end before which others can still appear: these are read again after the next position,
// and nothing is missed.

/** Each event leads to at most two ids, and a list reads at most 500. */
const maxEvents = 250

/** The part of a tenant's log after a position. */
export interface LogRange {
  readonly tenantAppId: string
  readonly since: string
}

/**
 * Reads a position after which the log has every change that rows do not show if they are read afterwards, or in the
 * same snapshot.
 *
 * @param since the position from which a delta continues
 * @returns the greatest id that an event before it can have, whether one has it or not
 * @throws OperatorError if `since` is none of this log, or later events have been removed
 */
export async function readPosition({ sql }: Pick<Database, 'sql'>, tenantAppId: string, since = ''): Promise<string> {
  const [[complete, begun, removedTo] = []] = await query(sql, readEnd, [tenantAppId])
  if (since >= String(begun)) {
    throw new OperatorError(`The log of this database has not reached ${since}. Is it of another database?`)
  }
  if (since !== '' && since < String(removedTo ?? '')) {
    throw new OperatorError(`Events after ${since} have been removed because of their age. Export everything again.`)
  }
  const before = BigInt(`0x${String(complete).slice('evt_'.length)}`) - 1n
  return `evt_${before.toString(16).padStart(12, '0')}${'f'.repeat(12)}`
}

/** Reads the ids of the resources that events of some types are about, in pages, each id once. */
export function changedResources(database: Pick<Database, 'sql'>, range: LogRange, types: readonly EventType[]) {
  return readIds(database, range, resourceIds, types)
}

/**
 * Reads the ids of the users whom events concern, in pages: users who have changed, and users whose accounts and
 * profiles have. A user who has an account that was unlinked before from another user is among them.
 */
export function changedUsers(database: Pick<Database, 'sql'>, range: LogRange) {
  return readIds(database, range, userIds)
}

async function* readIds(
  { sql }: Pick<Database, 'sql'>,
  { tenantAppId, since }: LogRange,
  page: Statement,
  ...parameters: (readonly string[])[]
): AsyncGenerator<string[]> {
  for (let after = since, count = maxEvents; count === maxEvents; ) {
    const rows = await query(sql, page, [tenantAppId, after, ...parameters])
    const ids = new Set(rows.flatMap(([, ...found]) => found.filter((id) => id !== null)))
    if (ids.size > 0) yield [...ids] as string[]
    after = String(rows.at(-1)?.[0])
    count = rows.length
  }
}

const readEnd = statement(`
  SELECT complete, begun, events_removed_to FROM ${horizonOf('$1')}, tenant_app WHERE tenant_app.id = $1`)

// Whether an event is the last one of its resource is a look-up in an index, so memory is bounded, however many
// resources have changed.
const lastOf = (condition: string) => `
  (SELECT id FROM event AS last WHERE last.tenant_app_id = $1 AND ${condition} ORDER BY last.id DESC LIMIT 1)`

const resourceIds = statement(`
  SELECT event.id, event.resource_id FROM event
  WHERE event.tenant_app_id = $1 AND event.id > $2 AND event.type = ANY ($3::text[])
    AND event.id = ${lastOf('last.resource_id = event.resource_id AND last.type = ANY ($3::text[])')}
  ORDER BY event.id LIMIT ${maxEvents}`)

// A transaction can link an account after one with a greater number has unlinked it. Its event can then come before the
// position, and only the event of the other one after it.
const userIds = statement(`
  SELECT event.id, event.user_id, owner.user_id FROM event
  LEFT JOIN account AS owner ON owner.tenant_app_id = $1 AND owner.id = event.account_id AND owner.user_id <> event.user_id
  WHERE event.tenant_app_id = $1 AND event.id > $2 AND event.user_id IS NOT NULL
    AND (owner.id IS NOT NULL OR event.id = ${lastOf('last.user_id = event.user_id')})
  ORDER BY event.id LIMIT ${maxEvents}`)
