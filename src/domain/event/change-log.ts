import type { Database } from '@fusion-gateway/database'
import type { Change, ChangeLog, LogChanges, LogPosition, ReadChanges } from '@fusion-gateway/gateway-kit'
import type { Model } from '@fusion-gateway/prisma-trees'
import { type Sql, statement } from '@fusion-gateway/sql'
import type { EventType } from './event.ts'
import type { EventFeed } from './event-feed.ts'
import { liveChangesOf, loggedModels } from './live-changes.ts'
import { formatPosition, positionAt, readLogEnd } from './position.ts'

/** The models whose rows can have changed with an event. Rows are deleted with the row that they belong to. */
const modelsOf: Partial<Record<EventType, readonly Model[]>> = {
  USER_CREATED: ['User'],
  USER_UPDATED: ['User'],
  USER_DELETED: ['User'],
  ACCOUNT_LINKED: ['Account'],
  ACCOUNT_UPDATED: ['Account'],
  ACCOUNT_UNLINKED: ['Account', 'Profile', 'EmailRecord'],
  PROFILE_SYNCED: ['Profile', 'EmailRecord'],
  JOB_CREATED: ['Job'],
  JOB_STARTED: ['Job'],
  JOB_UPDATED: ['Job'],
  JOB_SUCCEEDED: ['Job'],
  JOB_FAILED: ['Job'],
  JOB_CANCELLED: ['Job'],
  JOB_RETRIED: ['Job'],
}

/** More changes are not looked at one by one. */
const maxChanges = 500

/** Greater than every id. */
const end = 'evt_g'

/**
 * Reads what has changed in a tenant after a position in its log. A transaction becomes visible as a whole, so its
 * events are those of the transactions that ran at the position, and those with ids from `begun` on.
 *
 * Each part reads the index to its limit. `EXISTS` would get a sequential scan as its generic plan.
 */
async function readAfter(sql: Sql, tenantAppId: string, after: LogPosition | undefined): Promise<LogChanges> {
  const parameters = [tenantAppId, after?.begun ?? end, after?.running ?? []]
  const read = await sql.query(changes, parameters)
  // Only for events of profiles, because the tables of the owners can be locked by a migration for long. Both
  // statements read the same part of the log, and what the second one returns is of one snapshot.
  const hasProfiles = read.some(([, , , , type]) => type === 'PROFILE_SYNCED')
  const rows = hasProfiles ? await sql.query(changesWithOwners, parameters) : read
  const [[server, createdAt, begun, running] = []] = rows
  const position = { begun: String(begun), running: running as string[] }
  const events = rows.filter(([, , , , type]) => type !== null)
  // The rows of a tenant that is deleted have no events.
  const isKnown = createdAt !== null && events.length <= maxChanges
  return {
    server: `${server} ${createdAt}`,
    position,
    changes: isKnown ? events.flatMap(toChange) : undefined,
  }
}

export function changeLogOf(database: Pick<Database, 'driver' | 'sql'>, events: EventFeed): ChangeLog {
  const { driver } = database
  return {
    models: loggedModels,
    live: liveChangesOf(database, events),
    readChanges: (sql, ...rest) => readerFor(sql, driver)(sql, ...rest),
    async readPosition({ sql, viewer }) {
      if (!viewer.scopes.includes('events:read')) return undefined
      return formatPosition(positionAt(await readLogEnd(sql, viewer.tenantAppId), viewer))
    },
  }
}

function readerFor({ nodes }: Sql, { isShared }: Database['driver']): ReadChanges {
  if (!isShared) return readIfWritten
  return nodes.length > 0 ? readIfNew : readAfter
}

/**
 * Reads what has changed in the embedded database, to which only this process writes. It first reads whether anybody
 * has written anything, because the whole statement takes PGlite longer than many queries do.
 */
const readIfWritten: ReadChanges = async (sql, tenantAppId, after) => {
  const [[snapshot] = []] = await sql.query(readSnapshot)
  if (after && snapshot === after.state) return undefined
  const read = await readAfter(sql, tenantAppId, after)
  return { ...read, position: { ...read.position, state: String(snapshot) } }
}

const readSnapshot = statement('SELECT pg_current_snapshot()::text')

/**
 * Reads what has changed in a distributed database. Citus plans the whole statement each time. It keeps the plan of a
 * search in one table, and what a node says of itself it does not plan: these first look whether there is anything new.
 * Nothing that they look for goes away, so they need no common snapshot.
 */
const readIfNew: ReadChanges = async (sql, tenantAppId, after) => {
  const lowest = after && [after.begun, ...after.running].reduce((one, other) => (one < other ? one : other))
  const [[[tenant] = []], [[node] = []], ids] = await Promise.all([
    sql.query(readTenant, [tenantAppId]),
    sql.query(readNode, [tenantAppId]),
    lowest === undefined ? [] : sql.query(readIds, [tenantAppId, lowest]),
  ])
  // A node without the rows of the tenant says nothing of itself.
  const state = tenant === undefined || node === undefined ? undefined : `${tenant} ${node}`
  const isNew = (id: string) =>
    after && (id >= after.begun || after.running.some((prefix) => id > prefix && id < `${prefix}g`))
  const hasNew = ids.length === maxSeen || ids.some(([id]) => isNew(String(id)))
  if (after && !hasNew && state !== undefined && state === after.state) return undefined
  const read = await readAfter(sql, tenantAppId, after)
  return { ...read, position: { ...read.position, ...(state !== undefined && { state }) } }
}

const options = { isShortRead: true }

const readTenant = statement(
  'SELECT extract(epoch FROM created_at)::text FROM tenant_app WHERE id = $1 AND deleting_since IS NULL',
  options,
)

// What `event_position` names as the server, too.
const readNode = statement(
  `SELECT concat_ws(' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(), 'event'::regclass::oid,
    s.server, s."offset", r.next, pg_sequence_last_value('event_truncations'))
  FROM event_state AS s LEFT JOIN event_raise AS r ON true
  WHERE EXISTS (SELECT FROM pg_dist_placement WHERE shardid = get_shard_id_for_distribution_column('event', $1::text)
    AND groupid = (SELECT groupid FROM pg_dist_local_group))`,
  options,
)

/** How many events already seen are checked again because an event with a smaller id may still arrive. */
const maxSeen = 20

const readIds = statement(
  `SELECT id FROM event WHERE tenant_app_id = $1 AND id >= $2 ORDER BY id LIMIT ${maxSeen}`,
  options,
)

function toChange([, , , , type, resourceId, userId, accountId, owners]: readonly unknown[]): Change[] {
  const models = modelsOf[type as EventType]
  const all = [resourceId, userId, accountId, ...((owners ?? []) as unknown[])]
  return models ? [{ models, ids: all.filter((id) => typeof id === 'string') }] : []
}

const page = (condition: string) => `
  (SELECT event.type, event.resource_id, event.user_id, event.account_id FROM event
    WHERE event.tenant_app_id = $1 AND ${condition} ORDER BY event.id LIMIT ${maxChanges + 1})`

// The event of a profile names the account and the user as the transaction that wrote it could see them. Another
// transaction may have given the profile or the account to somebody else meanwhile, so those of now are read too.
const presentOwners = `
  CASE WHEN event.type = 'PROFILE_SYNCED' THEN (
    SELECT ARRAY[account.id, account.user_id] FROM account WHERE account.tenant_app_id = $1 AND account.id = coalesce(
      (SELECT profile.account_id FROM profile WHERE profile.tenant_app_id = $1 AND profile.id = event.resource_id),
      event.account_id)) END`

const readChanges = (...further: string[]) => `
  SELECT position.server, (SELECT extract(epoch FROM created_at)::text FROM tenant_app WHERE id = $1 AND deleting_since IS NULL),
    position.begun, position.running, ${['event.type', 'event.resource_id', 'event.user_id', 'event.account_id', ...further].join(', ')}
  FROM (SELECT count(*) FROM event WHERE tenant_app_id = $1 AND id = '') AS routed
    CROSS JOIN LATERAL event_position() AS position
    LEFT JOIN LATERAL (
      ${page('event.id >= $2')}
      UNION ALL SELECT late.* FROM unnest($3::text[]) AS prefix
      CROSS JOIN LATERAL ${page(`event.id > prefix AND event.id < prefix || 'g'`)} AS late
    ) AS event ON true`

// The search for an event that no tenant has makes Citus evaluate the position where the events of the tenant are.
const changes = statement(readChanges(), { isShortRead: true })

// It can wait for locks, so it shares no connection with other reads.
const changesWithOwners = statement(readChanges(presentOwners))
