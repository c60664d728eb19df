-- What the position of a snapshot in the log did not notice.

-- As before (migration truncated_rows), and "server" is another text after a crash too. PostgreSQL starts again by itself then, with the same time of
-- its start. Transactions of which nothing is on the disk are lost, and later ones get their numbers, so events could have ids before "begun". After a
-- crash PostgreSQL forgets its statistics. PostgreSQL 14 reads a file for their time, which takes milliseconds.
CREATE OR REPLACE FUNCTION "event_position"() RETURNS TABLE ("server" text, "begun" text, "running" text[]) AS $$
  SELECT concat_ws(' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
      CASE WHEN current_setting('server_version_num')::integer >= 150000
        THEN (extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) * 1000000)::bigint END,
      'public.event'::regclass::oid, "event_state"."offset", pg_sequence_last_value('public.event_truncations')),
    "event_prefix"("event_state"."offset" +
      CASE WHEN pg_is_in_recovery() THEN pg_snapshot_xmin(pg_current_snapshot()) ELSE pg_snapshot_xmax(pg_current_snapshot()) END::text::bigint),
    ARRAY(
      SELECT "event_prefix"("event_state"."offset" + "number"::text::bigint) FROM pg_snapshot_xip(pg_current_snapshot()) AS "number")
  FROM "event_state"
$$ LANGUAGE sql STABLE;

-- A TRUNCATE of the log itself loses the events before it.
CREATE TRIGGER "truncated" AFTER TRUNCATE ON "event" FOR EACH STATEMENT EXECUTE FUNCTION "count_truncation"();
