-- TRUNCATE writes no events, so each one counts here, and what was read before it is not the same log any more. A sequence, because a row would let
-- the shards of one TRUNCATE wait for each other (src/engine/db/distribution).
CREATE SEQUENCE "event_truncations";
GRANT USAGE ON SEQUENCE "event_truncations" TO PUBLIC;

CREATE FUNCTION "count_truncation"() RETURNS trigger SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM nextval('event_truncations');
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

-- Foreign keys lead from emails to profiles, accounts and users: a TRUNCATE of any of these tables is one of emails too. Readers wait for its lock
-- until it has ended, so what they read after they have seen the new number is what it has left.
CREATE TRIGGER "truncated" AFTER TRUNCATE ON "email_record" FOR EACH STATEMENT EXECUTE FUNCTION "count_truncation"();

-- As before (migration complete_events), and "server" is another text after a TRUNCATE too.
CREATE OR REPLACE FUNCTION "event_position"() RETURNS TABLE ("server" text, "begun" text, "running" text[]) AS $$
  SELECT concat_ws(' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, 'public.event'::regclass::oid, "event_state"."offset",
      pg_sequence_last_value('public.event_truncations')),
    "event_prefix"("event_state"."offset" +
      CASE WHEN pg_is_in_recovery() THEN pg_snapshot_xmin(pg_current_snapshot()) ELSE pg_snapshot_xmax(pg_current_snapshot()) END::text::bigint),
    ARRAY(
      SELECT "event_prefix"("event_state"."offset" + "number"::text::bigint) FROM pg_snapshot_xip(pg_current_snapshot()) AS "number")
  FROM "event_state"
$$ LANGUAGE sql STABLE;
