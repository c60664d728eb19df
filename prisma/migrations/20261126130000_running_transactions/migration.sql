-- The prefixes of the events of the transactions that run on this server. A statement about the rows of a tenant runs on the server of the tenant,
-- and cannot read the table "event_state" there by itself: it belongs to each server.
CREATE FUNCTION "event_running"() RETURNS text[] AS $$
  SELECT ARRAY(
    SELECT "event_prefix"("event_state"."offset" + "number"::text::bigint)
    FROM pg_snapshot_xip(pg_current_snapshot()) AS "number", "event_state")
$$ LANGUAGE sql STABLE;
