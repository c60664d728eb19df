-- The offset with which all ids are greater than every position in the log that something remembers: its events, and those that were removed
-- because of their age, of which the greatest id of a tenant, the cursors of webhooks and the erasures under way are left. The last event of a
-- tenant is one step in an index, so this does not read the log.
CREATE OR REPLACE FUNCTION "next_offset"() RETURNS bigint AS $$
  SELECT coalesce(max(('x' || lpad(substr("position", 5, 12), 16, '0'))::bit(64)::bigint), 0) + 1 FROM (
    SELECT "events_removed_to" AS "position" FROM "tenant_app"
    UNION ALL SELECT "last"."id" FROM "tenant_app", LATERAL (
      SELECT "event"."id" FROM "event" WHERE "event"."tenant_app_id" = "tenant_app"."id" ORDER BY "event"."id" DESC LIMIT 1
    ) AS "last"
    UNION ALL SELECT "cursor" FROM "webhook"
    UNION ALL SELECT "seen_in" FROM "erasure"
  ) AS "positions" WHERE "position" ~ '^evt_[0-9a-f]{12}'
$$ LANGUAGE sql STABLE;

-- Triggers find the tables whatever the search path of the session is: pg_restore has none.
ALTER FUNCTION "event_offset"() SET search_path = public, pg_temp;
ALTER FUNCTION "write_events"() SET search_path = public, pg_temp;
ALTER FUNCTION "write_profile_events"() SET search_path = public, pg_temp;
ALTER FUNCTION "write_job_events"() SET search_path = public, pg_temp;
ALTER FUNCTION "delete_events"() SET search_path = public, pg_temp;
ALTER FUNCTION "write_webhook_disabled"() SET search_path = public, pg_temp;
ALTER FUNCTION "request_erasure"() SET search_path = public, pg_temp;
ALTER FUNCTION "write_email_events"() SET search_path = public, pg_temp;
