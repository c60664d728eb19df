import { statement } from '@fusion-gateway/sql'
import { isSuspended } from '../../suspension/suspension.ts'

// Locks are taken in one order, so that workers and mutations do not wait for each other in a circle: rows of webhooks
// before those of deliveries, and the rows of a table in the order of their keys or with SKIP LOCKED.

/** How many events of how many webhooks one statement puts into deliveries. */
export const pageSize = 500
const maxWebhooks = 5

/** A webhook to which events can be sent now. */
const isOpen = 'enabled AND (paused_until IS NULL OR paused_until <= now())'

/** How many deliveries of a webhook run at a time: one while it fails, so that it takes no places of others. */
const places = 'CASE WHEN failing_since IS NULL THEN 8 ELSE 1 END'
const maxClaimedOfWebhook = 4

/**
 * Inserts deliveries of the rows of an item of FROM. An event that has a delivery to the webhook is sent again: it is
 * chosen a second time only if a client asked for that.
 */
const insertFrom = (chosen: string) => `
  INSERT INTO webhook_delivery (tenant_app_id, id, webhook_id, event_id, event_type, next_attempt_at, updated_at)
  SELECT tenant_app_id, 'dlv_' || substr(event_id, 5) || '_' || substr(webhook_id, 5), webhook_id, event_id, type, now(), now()
  FROM ${chosen} ORDER BY tenant_app_id, event_id, webhook_id
  ON CONFLICT (tenant_app_id, id) DO UPDATE SET
    status = 'PENDING', attempts = 0, next_attempt_at = excluded.next_attempt_at, lease_token = NULL, response_status = NULL, error = NULL,
    updated_at = excluded.updated_at
  RETURNING event_id`

// Conditions about the first row of an index are subqueries with a limit. For EXISTS, PostgreSQL could read all
// events or deliveries.

const nextEvent = (tenant: string) => `(
  SELECT id FROM event WHERE event.tenant_app_id = ${tenant} AND event.id > webhook.cursor ORDER BY id LIMIT 1)`

/** The tenants with events that a webhook has not read, and that can be read. */
export const listUnread = statement(`
  SELECT DISTINCT tenant_app_id FROM webhook WHERE enabled AND ${nextEvent('webhook.tenant_app_id')} < node_complete(webhook.tenant_app_id)`)

/** Locks some webhooks of a tenant with events that they have not read. Parameter: tenant. */
const served = `
  served AS (
    SELECT tenant_app_id, id AS webhook_id, event_types, fields, cursor FROM webhook
    WHERE tenant_app_id = $1 AND enabled AND ${nextEvent('$1')} IS NOT NULL
    ORDER BY node_random(id) LIMIT ${maxWebhooks} FOR NO KEY UPDATE SKIP LOCKED
  )`

/** The next events of a webhook that was locked. */
const unread = `(
  SELECT id, type, changed_fields FROM event
  WHERE event.tenant_app_id = $1 AND event.id > served.cursor AND event.id < node_complete(served.tenant_app_id)
  ORDER BY id LIMIT ${pageSize}
) AS unread`

/** Whether the webhook wants the event. One that does not name what it changed may have changed anything. */
const isWanted = `type = ANY (event_types) AND (cardinality(fields) = 0 OR changed_fields IS NULL OR changed_fields && fields)`

/**
 * Puts new events into deliveries of some webhooks of a tenant, if they want them, and moves the cursors of these
 * webhooks. Those that another worker serves are skipped. The locked rows have their newest cursors, so no event is put
 * twice.
 * Parameter: tenant. Result: the number of events that were read.
 */
export const fanOut = statement(
  `
  WITH ${served},
  page AS (
    SELECT served.tenant_app_id, webhook_id, event_types, fields, unread.id AS event_id, unread.type, changed_fields
    FROM served CROSS JOIN LATERAL ${unread}
  ),
  chosen AS (SELECT * FROM page WHERE ${isWanted}),
  inserted AS (${insertFrom('chosen')}),
  moved AS (
    UPDATE webhook SET cursor = last.event_id
    FROM (SELECT webhook_id, max(event_id) AS event_id FROM page GROUP BY webhook_id) AS last
    WHERE webhook.tenant_app_id = $1 AND webhook.id = last.webhook_id
  )
  SELECT count(*) FROM page`,
  { mayWait: true },
)

/**
 * The parts of `fanOut` for a transaction on a node of a distributed database. Citus executes an INSERT within a
 * statement apart from the rest, and sends what the rest has read to all nodes. Parameter: tenant. Results: the
 * webhook, the id and type of an event, and whether the webhook wants it.
 */
export const readPages = statement(
  `
  WITH ${served}
  SELECT webhook_id, unread.id, unread.type, ${isWanted} FROM served CROSS JOIN LATERAL ${unread}
  ORDER BY webhook_id, unread.id`,
  { mayWait: true },
)
/** Further parameters, as lists: webhooks, and the ids and types of events. */
export const insertPages = statement(
  insertFrom(
    '(SELECT $1::text AS tenant_app_id, * FROM unnest($2::text[], $3::text[], $4::text[]) AS given (webhook_id, event_id, type)) AS chosen',
  ),
)
/** Further parameters, as lists: webhooks, and the last event of each. */
export const moveCursors = statement(`
  UPDATE webhook SET cursor = last.event_id FROM unnest($2::text[], $3::text[]) AS last (webhook_id, event_id)
  WHERE webhook.tenant_app_id = $1 AND webhook.id = last.webhook_id`)

/** Puts events with given ids into deliveries of a webhook. Parameters: tenant, webhook, ids. */
export const redeliver = statement(`
  WITH chosen AS (
    SELECT tenant_app_id, $2 AS webhook_id, id AS event_id, type FROM event
    WHERE tenant_app_id = $1 AND id = ANY ($3::text[]) AND id < node_complete(tenant_app_id)
  ) ${insertFrom('chosen')}`)

export const listDue = statement(`
  SELECT DISTINCT tenant_app_id FROM webhook WHERE ${isOpen} AND NOT ${isSuspended('webhook.tenant_app_id')} AND (
    SELECT next_attempt_at FROM webhook_delivery AS waiting
    WHERE status = 'PENDING' AND waiting.tenant_app_id = webhook.tenant_app_id AND webhook_id = webhook.id
    ORDER BY next_attempt_at LIMIT 1) <= now()`)

/**
 * Claims due deliveries of a tenant: a few of each webhook, in random order of the webhooks. A row is a
 * `ClaimedDelivery`, as JSON.
 * Parameters: tenant, limit, seconds of the lease.
 */
export const claim = statement(
  `
  WITH due AS (
    SELECT claimed.* FROM (
      SELECT id, ${places} AS places FROM webhook WHERE tenant_app_id = $1 AND ${isOpen} ORDER BY node_random(id)
    ) AS served CROSS JOIN LATERAL (
      SELECT id FROM webhook_delivery AS waiting
      WHERE status = 'PENDING' AND tenant_app_id = $1 AND webhook_id = served.id AND next_attempt_at <= now()
      ORDER BY next_attempt_at LIMIT least(${maxClaimedOfWebhook}, greatest(0, served.places - (
        SELECT count(*) FROM webhook_delivery AS running
        WHERE status = 'RUNNING' AND running.tenant_app_id = $1 AND running.webhook_id = served.id
      ))) FOR UPDATE SKIP LOCKED
    ) AS claimed LIMIT $2::integer
  ),
  started AS (
    UPDATE webhook_delivery AS delivery SET
      status = 'RUNNING', attempts = attempts + 1, lease_token = node_uuid(delivery.tenant_app_id),
      next_attempt_at = now() + make_interval(secs => $3::double precision), updated_at = now()
    FROM due WHERE delivery.tenant_app_id = $1 AND delivery.id = due.id
    RETURNING delivery.*
  )
  SELECT json_build_object(
    'tenantAppId', started.tenant_app_id, 'id', started.id, 'leaseToken', started.lease_token, 'attempt', started.attempts,
    'event', CASE WHEN event.id IS NOT NULL THEN json_build_object(
      'id', event.id, 'type', event.type, 'resourceId', event.resource_id, 'userId', event.user_id, 'keyId', event.key_id,
      'requestId', event.request_id, 'createdAt', event.created_at, 'changedFields', event.changed_fields) END,
    'webhook', json_build_object(
      'tenantAppId', started.tenant_app_id, 'id', webhook.id, 'url', webhook.url, 'query', webhook.query,
      'keyId', webhook.key_id, 'scopes', webhook.scopes, 'isFailing', webhook.failing_since IS NOT NULL,
      'secrets', array_remove(ARRAY[
        webhook.secret, CASE WHEN webhook.previous_secret_until > now() THEN webhook.previous_secret END], NULL)))::text
  FROM started JOIN webhook ON webhook.tenant_app_id = $1 AND webhook.id = started.webhook_id
  LEFT JOIN event ON event.tenant_app_id = $1 AND event.id = started.event_id`,
  { mayWait: true },
)

/** Makes deliveries due again whose lease has expired, because their worker has stopped. */
export const releaseExpired = statement(`
  UPDATE webhook_delivery SET status = 'PENDING', next_attempt_at = now(), lease_token = NULL, updated_at = now()
  WHERE tenant_app_id = $1 AND id IN (
    SELECT id FROM webhook_delivery WHERE tenant_app_id = $1 AND status = 'RUNNING' AND next_attempt_at < now()
    LIMIT 500 FOR UPDATE SKIP LOCKED)`)
export const listExpired = statement(`
  SELECT DISTINCT tenant_app_id FROM webhook_delivery WHERE status = 'RUNNING' AND next_attempt_at < now()`)

/**
 * Records the ends of attempts. A delivery that the worker no longer holds stays as it is. Parameters: tenant, and as
 * lists: ids, lease tokens, states, statuses of responses, errors, seconds until the next attempt, and whether the
 * attempt does not count.
 */
export const record = statement(`
  WITH ended AS (
    SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::double precision[], $8::boolean[])
      AS ended (id, token, status, response_status, error, delay, is_free)
  ),
  held AS (
    SELECT webhook_delivery.id FROM webhook_delivery JOIN ended ON webhook_delivery.id = ended.id AND lease_token = token
    WHERE tenant_app_id = $1 ORDER BY id FOR UPDATE OF webhook_delivery
  )
  UPDATE webhook_delivery AS delivery SET
    status = ended.status, response_status = ended.response_status, error = ended.error, lease_token = NULL, updated_at = now(),
    attempts = attempts - is_free::integer, next_attempt_at = node_later(delivery.tenant_app_id, ended.delay)
  FROM held JOIN ended USING (id)
  WHERE delivery.tenant_app_id = $1 AND delivery.id = held.id AND lease_token = token`)

const ofWebhook = 'tenant_app_id = $1 AND id = $2'

/** The statements of the health of one webhook. Parameters: tenant, webhook. */
export const noteSuccess = statement(`UPDATE webhook SET failing_since = NULL WHERE ${ofWebhook}`)
export const noteFailure = statement(`
  UPDATE webhook SET failing_since = now() WHERE ${ofWebhook} AND failing_since IS NULL`)
export const hasFailedTooLong = statement(`
  SELECT FROM webhook WHERE ${ofWebhook} AND enabled AND failing_since < now() - interval '5 days'`)
/**
 * Lets the webhooks of a tenant with a URL wait. Each attempt reads the clock of the endpoint anew, so a shorter time
 * does not end a longer one. Parameters: tenant, URL, seconds.
 */
export const pause = statement(`
  UPDATE webhook SET paused_until = greatest(paused_until, now() + make_interval(secs => $3::double precision))
  FROM (SELECT id FROM webhook WHERE tenant_app_id = $1 AND url = $2 ORDER BY id FOR NO KEY UPDATE) AS locked
  WHERE tenant_app_id = $1 AND webhook.id = locked.id`)
/** Further parameters are the reason, and the URL and the key of the attempt, which a client can have changed since. */
export const disable = statement(`
  UPDATE webhook SET enabled = false, disabled_reason = $3, updated_at = now()
  WHERE ${ofWebhook} AND enabled AND url = $4 AND key_id = $5`)

/**
 * Removes deliveries whose events have been removed. Their ids begin with those of the events. Parameter: tenant.
 */
export const removeOld = statement(`
  DELETE FROM webhook_delivery WHERE tenant_app_id = $1 AND id IN (
    SELECT id FROM webhook_delivery
    WHERE tenant_app_id = $1
      AND id < 'dlv_' || substr((SELECT events_removed_to FROM tenant_app WHERE tenant_app.id = $1), 5) || '~'
    ORDER BY id LIMIT ${pageSize} FOR UPDATE SKIP LOCKED)`)
export const listRemoved = statement(`
  SELECT id FROM tenant_app WHERE events_removed_to IS NOT NULL`)

const removedAtOnce = 10_000

/**
 * Removes deliveries of a webhook. Parameters: tenant, webhook. The array is read once, and its rows are found by their
 * places: a plan from a time when the table was small would read the list of ids again for each row.
 */
export const removeOf = statement(`
  WITH locked AS (SELECT id FROM webhook WHERE ${ofWebhook} FOR UPDATE)
  DELETE FROM webhook_delivery WHERE tenant_app_id = $1 AND ctid = ANY (ARRAY(
    SELECT delivery.ctid FROM locked CROSS JOIN LATERAL (
      SELECT ctid FROM webhook_delivery WHERE tenant_app_id = $1 AND webhook_id = locked.id LIMIT ${removedAtOnce} FOR UPDATE SKIP LOCKED
    ) AS delivery))`)
