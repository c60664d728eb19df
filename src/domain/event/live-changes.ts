import type { Database } from '@fusion-gateway/database'
import type { FollowedTenant, LiveChanges } from '@fusion-gateway/gateway-kit'
import type { Model } from '@fusion-gateway/prisma-trees'
import { statement } from '@fusion-gateway/sql'
import { complete, type EventFeed } from './event-feed.ts'

/** The models of whose rows each change is an event (test/events/every-column.test.ts). */
export const loggedModels: ReadonlySet<Model> = new Set<Model>(['User', 'Account', 'Profile', 'EmailRecord'])

/**
 * Those of which some or all changes are announced instead: jobs that are removed, and everything about webhooks
 * (migration announced_changes).
 */
const announcedModels: ReadonlySet<Model> = new Set<Model>(['Job', 'Webhook', 'WebhookDelivery'])

/** The channel on which triggers announce such changes: `job ten_1`. */
const channel = 'rows_changed'

const modelsByTable = new Map<string, Model>([
  ['job', 'Job'],
  ['webhook', 'Webhook'],
  ['webhook_delivery', 'WebhookDelivery'],
])

/** Greater than every id. */
const end = 'evt_g'

/** How live queries learn of changes. */
export function liveChangesOf({ driver, sql }: Pick<Database, 'driver' | 'sql'>, events: EventFeed): LiveChanges {
  const isDistributed = () => driver.isDistributed?.() === true

  return {
    models: new Set<Model>([...loggedModels, ...announcedModels, 'Event']),
    related: loggedModels,
    announced: announcedModels,
    ofEvents: 'Event',
    watch: (onWritten) => events.watch(onWritten, 'reads'),

    async findWritten(followed) {
      if (followed.length === 0) return []
      // Each node has its own numbers, and looks for itself.
      if (isDistributed()) return followed.map(({ tenantAppId }) => tenantAppId)
      const ranges = followed.flatMap(rangesOf)
      const rows = await sql.query(findWritten, [
        ranges.map(([tenantAppId]) => tenantAppId),
        ranges.map(([, from]) => from),
        ranges.map(([, , to]) => to),
      ])
      const [[server] = []] = rows
      const written = new Set(rows.map(([, tenantAppId]) => tenantAppId))
      const isOther = ({ server: known = '' }: FollowedTenant) => !known.startsWith(`${server} `)
      return followed.filter((one) => isOther(one) || written.has(one.tenantAppId)).map((one) => one.tenantAppId)
    },

    async listen(onChange) {
      const listener = await driver.listen(channel, {
        onMessage(payload) {
          const [table = '', tenantAppId] = payload.split(' ')
          onChange(tenantAppId, modelsByTable.get(table))
        },
        onGap: () => onChange(),
      })
      // The nodes of a distributed database announce nothing here.
      const stop = isDistributed() ? await events.watch(() => onChange(), 'reads') : undefined
      return () => {
        stop?.()
        void listener.close()
      }
    },

    async followEvents(viewer, onEvents, onFailure) {
      const follower = await events.follow(viewer, complete)
      const follow = async () => {
        while (await follower.next()) onEvents()
      }
      follow().catch(onFailure)
      return () => follower.return()
    },
  }
}

/** The ranges of ids that events have which a position has not seen. */
function rangesOf({ tenantAppId, position }: FollowedTenant): (readonly [string, string, string])[] {
  if (!position) return []
  const { begun, running } = position
  return [[tenantAppId, begun, end], ...running.map((prefix) => [tenantAppId, prefix, `${prefix}g`] as const)]
}

// One step in the index for each range. `EXISTS` would get a sequential scan as its generic plan.
const findWritten = statement(`
  SELECT position.server, written.tenant_app_id
  FROM event_position() AS position LEFT JOIN (
    unnest($1::text[], $2::text[], $3::text[]) AS followed (tenant_app_id, begun, ended)
    CROSS JOIN LATERAL (
      SELECT id FROM event
      WHERE event.tenant_app_id = followed.tenant_app_id AND event.id >= followed.begun AND event.id < followed.ended
      ORDER BY event.id LIMIT 1
    ) AS first
  ) AS written ON true`)
