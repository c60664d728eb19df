import { type GatewayError, invalidField, OperatorError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { type IdWindow, selectColumns } from '@fusion-gateway/prisma-trees'
import { type Parameter, type Statement, statement, sumOfBatches, sumOfTenants } from '@fusion-gateway/sql'
import type { Logger } from 'pino'
import type { Event, EventType } from './event.ts'
import { createNewEvents, horizonOf, maxEvents } from './new-events.ts'
import { idBefore, lowestOf, type Position, readLogEnd } from './position.ts'

// What has changed since a position in the log. Unlike followers, a delta reads the rows and the log in one snapshot,
// and so also the events at the end before which others can still appear: these are read again after the next position,
// and nothing is missed.

/** Each event leads to at most two ids, and a list reads at most 500. */
const maxChanges = 250

interface LogRange {
  readonly tenantAppId: string
  readonly since: string
}

/**
 * Reads the id after which the log has every change that rows do not show if they are read afterwards, or in the same
 * snapshot.
 *
 * @param since the id from which a delta continues
 * @returns the greatest id that an event before it can have, whether one has it or not
 * @throws OperatorError if `since` is none of this log, or later events have been removed
 */
export async function readDeltaEnd({ sql }: Pick<Database, 'sql'>, tenantAppId: string, since = ''): Promise<string> {
  const [[complete, begun, removedTo] = []] = await sql.query(readEnd, [tenantAppId])
  if (since >= String(begun)) {
    throw new OperatorError(`The log of this database has not reached ${since}. Is it of another database?`)
  }
  if (since !== '' && since < String(removedTo ?? '')) {
    throw new OperatorError(`Events after ${since} have been removed because of their age. Export everything again.`)
  }
  return idBefore(String(complete))
}

/** Reads the ids of the resources that events of some types are about, in pages, each id once. */
export function changedResources(database: Pick<Database, 'sql'>, range: LogRange, types: readonly EventType[]) {
  return readIds(database, range, resourceIds, types)
}

/** Reads, in pages, the ids of users who have changed, or whose accounts and profiles have. */
export function changedUsers(database: Pick<Database, 'sql'>, range: LogRange) {
  return readIds(database, range, userIds)
}

async function* readIds(
  { sql }: Pick<Database, 'sql'>,
  { tenantAppId, since }: LogRange,
  page: Statement,
  ...parameters: (readonly string[])[]
): AsyncGenerator<string[]> {
  for (let after = since, count = maxChanges; count === maxChanges; ) {
    const rows = await sql.query(page, [tenantAppId, after, ...parameters])
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
  ORDER BY event.id LIMIT ${maxChanges}`)

// The events of a user are in two indexes: those of the user itself in the one of resources, the others in their own.
const lastOfUser = `greatest(
  ${lastOf('last.resource_id = event.user_id AND last.user_id = last.resource_id')},
  ${lastOf('last.user_id = event.user_id AND last.user_id <> last.resource_id')})`

// A transaction can link an account after one with a greater number has unlinked it. Its event can then come before the
// position, and only the event of the other one after it.
const userIds = statement(`
  SELECT event.id, event.user_id, owner.user_id FROM event
  LEFT JOIN account AS owner ON owner.tenant_app_id = $1 AND owner.id = event.account_id AND owner.user_id <> event.user_id
  WHERE event.tenant_app_id = $1 AND event.id > $2 AND event.user_id IS NOT NULL
    AND (owner.id IS NOT NULL OR event.id = ${lastOfUser})
  ORDER BY event.id LIMIT ${maxChanges}`)

// A transaction that has written an event has a smaller number than the next one.
const isMisfit = `(server <> system_identifier
  OR next_offset() - 1 > "offset" + pg_snapshot_xmax(pg_current_snapshot())::text::bigint)`

const message =
  'the event log has been moved from another server: the ids of new events were below those that readers know, and are now above them. Restart the other processes of the gateway'

const findMisfit = statement(`SELECT 1 FROM event_state, pg_control_system() WHERE ${isMisfit}`)

const fit = statement(`
  UPDATE event_state SET server = system_identifier, "offset" = next_offset(), others = '{}'
  FROM pg_control_system() WHERE ${isMisfit} RETURNING "offset"::text`)

/**
 * Makes the ids of new events greater than every position that the log and its readers know. They can be smaller when
 * the rows were moved to a server that has counted fewer transactions, by a restore of data alone, for example: readers
 * would never see these events.
 *
 * A session remembers the offset with which it writes. So processes that served already must be restarted.
 *
 * @param log gets a warning if the ids had to be made greater
 */
export async function alignEventIds(
  { sql, driver }: Pick<Database, 'sql' | 'driver'>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  // `migrate distribute` does it for nodes, and a process does not start before (citus/layout.ts).
  if (driver.isDistributed?.()) return
  // Most starts have nothing to do, and write nothing.
  if ((await sql.query(findMisfit)).length === 0) return
  const [fitted] = await sql.query(fit)
  if (fitted) log.warn({ offset: fitted[0] }, message)
}

/** Which events of a tenant to read, in the order of the log. All conditions must hold. */
export interface EventSelection extends IdWindow {
  readonly tenantAppId: string
  readonly types?: readonly EventType[] | undefined
  readonly resourceId?: string | undefined
  /** Only events of this user and the user's accounts and profiles. */
  readonly userId?: string | undefined
  readonly createdAfter?: Date | undefined
  readonly createdBefore?: Date | undefined
  /** Only events that were not seen at this position. */
  readonly unseenAt?: Position | undefined
}

export type EventLog = ReturnType<typeof createEventLog>

/** Creates the reader of the event log. It reads only events before which no other can appear. */
export function createEventLog({ sql, model, driver }: Pick<Database, 'sql' | 'model' | 'driver'>) {
  const { list, toRow } = selectColumns(model('Event'), { isSelected: ({ field }) => field !== 'tenantAppId' })
  const toEvent = (values: readonly unknown[]) => toRow(values) as unknown as Event
  const columns = list.replaceAll('"', '').split(', ')
  const statements = new Map<string, Statement>()
  const readNew = createNewEvents({ sql, driver }, columns, toEvent)

  /**
   * The statement for the conditions that are given. PostgreSQL chooses an index by them.
   *
   * @param unseenAt whether the last parameter is a position
   */
  function statementFor(given: readonly string[], direction: 'ASC' | 'DESC', unseenAt: boolean): Statement {
    const conditions = given.map((condition, index) => condition.replace('$', `$${index + 3}`))
    const position = unseenAt ? `$${given.length + 3}::text[]` : undefined
    const key = [direction, ...conditions, position].join(' AND ')
    const known = statements.get(key) ?? {
      ...readPage(columns, conditions, direction, given.includes(ofUser), position),
      // The index of times is right for few events, and for many ones the order of the page.
      isPlannedForValues: times.some((condition) => given.includes(condition)),
    }
    statements.set(key, known)
    return known
  }

  return {
    /**
     * @throws GatewayError BAD_USER_INPUT if events after the id have been removed because of their age, or the log has
     *   not reached the id
     */
    async read({ tenantAppId, limit, fromEnd = false, ...selection }: EventSelection): Promise<Event[]> {
      const { before, notBefore, notAfter, types, resourceId, userId, createdAfter, createdBefore, unseenAt } =
        selection
      const position = unseenAt && unseenAt.running.length > 0 ? [unseenAt.last, ...unseenAt.running] : undefined
      const after = selection.after ?? (position ? undefined : unseenAt?.last)
      const conditions: Record<string, Parameter | undefined> = {
        'event.id > $': after,
        'event.id < $': before,
        'event.id >= $': notBefore,
        'event.id <= $': notAfter,
        'event.type = ANY ($::text[])': types,
        'event.resource_id = $': resourceId,
        [ofUser]: userId,
        [times[0]]: createdAfter?.toISOString(),
        [times[1]]: createdBefore?.toISOString(),
      }
      const given = Object.entries(conditions).filter(([, value]) => value !== undefined)
      const parameters = [tenantAppId, String(limit), ...given.map(([, value]) => value as Parameter)]
      const [[removedTo, begun, ...first] = [], ...others] = await sql.of(tenantAppId).query(
        statementFor(
          given.map(([condition]) => condition),
          fromEnd ? 'DESC' : 'ASC',
          position !== undefined,
        ),
        position ? [...parameters, position] : parameters,
      )
      const to = after ?? unseenAt?.last
      if (to !== undefined && to >= String(begun)) throw positionNotFound()
      const from = after ?? (unseenAt && lowestOf(unseenAt))
      if (from !== undefined && from < String(removedTo ?? '')) {
        throw invalidField(
          'after',
          'NOT_FOUND',
          'is older than the events that are kept. Read your data again, and continue from a new event',
        )
      }
      // The first two columns are the same in every row. Without events the others are null.
      return first[0] == null ? [] : [toEvent(first), ...others.map((values) => toEvent(values.slice(2)))]
    },

    readNew,

    readEnd: (tenantAppId: string) => readLogEnd(sql.of(tenantAppId), tenantAppId),

    /**
     * Notes which transactions of other databases keep later events from being read. They do no longer then.
     *
     * @returns whether there were any
     */
    async passOtherDatabases(): Promise<boolean> {
      // Each node of a distributed database has its own transactions.
      if (!driver.isShared || driver.isDistributed?.()) return false
      const [[isNew] = []] = await sql.query(noteOthers)
      return isNew === true
    },

    /** Describes the oldest transaction that writes now, which keeps later events from being read. */
    async describeOldestWriter(): Promise<string | undefined> {
      const [found] = await sql.query(oldestWriter)
      return found && String(found[0])
    },

    /**
     * Removes events that are older than `days`, in batches of the oldest events of a tenant. Each node of a
     * distributed database has to note what is removed, so nothing is removed while one fails.
     *
     * @returns how many
     */
    async removeOlderThan(days: number): Promise<number> {
      if (!sql.allAnswer) return 0
      return sumOfTenants(sql, await sql.query(listTenants), (tenantAppId, sql) =>
        sumOfBatches(maxEvents, async () => {
          const [[last, count] = []] = await sql.query(findOld, [tenantAppId, String(days)])
          if (last === null) return 0
          await sql.execute(noteRemoved, [tenantAppId, String(last)])
          await sql.execute(remove, [tenantAppId, String(days), String(last)])
          return Number(count)
        }),
      )
    },
  }
}

/** The error for a position that this log has not reached, such as one of another database. */
export function positionNotFound(): GatewayError {
  return invalidField('after', 'NOT_FOUND', 'is not the id of an event')
}

const ofUser = 'event.user_id = $'

const times = ['event.created_at > $::timestamptz', 'event.created_at < $::timestamptz'] as const

/** @param unseenAt the parameter with the position at which the events were not seen */
function readPage(
  columns: readonly string[],
  conditions: readonly string[],
  direction: 'ASC' | 'DESC',
  isOfUser: boolean,
  unseenAt: string | undefined,
): Statement {
  const all = ['event.tenant_app_id = $1', 'event.id < (SELECT complete FROM event_horizon())', ...conditions]
  const order = `ORDER BY id ${direction} LIMIT $2::integer`
  // The index of users has no events about the users themselves. Those are found by the index of resources.
  const parts = isOfUser ? ['event.user_id = event.resource_id', 'event.user_id <> event.resource_id'] : ['true']
  const page = (...others: string[]) => `(SELECT * FROM event WHERE ${[...all, ...others].join(' AND ')} ${order})`
  // Each transaction that had not ended is a range of the index.
  const pages = parts.flatMap((part) =>
    unseenAt === undefined
      ? [page(part)]
      : [
          page(part, `event.id > (${unseenAt})[1]`),
          `(SELECT late.* FROM unnest((${unseenAt})[2:]) AS prefix
            CROSS JOIN LATERAL ${page(part, 'event.id > prefix', "event.id < prefix || 'g'")} AS late)`,
        ],
  )
  return statement(`
    SELECT tenant_app.events_removed_to, (SELECT begun FROM event_horizon()), ${columns.map((column) => `event.${column}`).join(', ')}
    FROM tenant_app LEFT JOIN (SELECT * FROM (${pages.join(' UNION ALL ')}) AS page ${order}) AS event ON true
    WHERE tenant_app.id = $1 ORDER BY event.id ${direction}`)
}

// PostgreSQL hides when the transactions of other roles began. A prepared transaction has no process.
const oldestWriter = statement(`
  SELECT writer FROM (
    SELECT format('process %s of PostgreSQL (%s)', pid, coalesce(nullif(application_name, ''), 'unnamed')) AS writer, backend_xid AS number
    FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND datname = current_database()
    UNION ALL SELECT format('the prepared transaction %s', gid), transaction FROM pg_prepared_xacts WHERE database = current_database()
  ) AS writers ORDER BY age(number) DESC LIMIT 1`)

const noteOthers = statement('SELECT note_other_transactions()')

const listTenants = statement('SELECT id FROM tenant_app ORDER BY id')

const isOld = 'created_at < now() - make_interval(days => $2::integer)'

const findOld = statement(`
  SELECT max(id), count(*) FROM (SELECT id, created_at FROM event WHERE tenant_app_id = $1 ORDER BY id LIMIT ${maxEvents}) AS oldest
  WHERE ${isOld}`)

// A tenant remembers what is removed, before it is: a follower which continues after an older id learns that it has
// missed events.
const noteRemoved = statement(`
  UPDATE tenant_app SET events_removed_to = greatest(events_removed_to, $2) WHERE id = $1`)

const remove = statement(`DELETE FROM event WHERE tenant_app_id = $1 AND id <= $3 AND ${isOld}`)
