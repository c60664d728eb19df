-- Writes that the log of events, and the positions in it, did not notice.

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

-- Emails are a part of their profile, which has one event per transaction. The ids of this transaction's events begin with its prefix, and
-- go on with hexadecimal digits, which are less than g. Later transactions can have written events with greater ids. On partitioned tables, a
-- transaction with an older snapshot can write an email of a profile that it does not see.
CREATE OR REPLACE FUNCTION "write_email_events"() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  own text := "transaction_prefix"();
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT email."tenant_app_id", 'PROFILE_SYNCED', email."profile_id", account."user_id", account."id"
    FROM (
      SELECT DISTINCT "tenant_app_id", "profile_id" FROM (
        (TABLE changed_rows EXCEPT TABLE old_rows) UNION ALL (TABLE old_rows EXCEPT TABLE changed_rows)) AS different OFFSET 0
    ) AS email
    LEFT JOIN "profile" ON profile."tenant_app_id" = email."tenant_app_id" AND profile."id" = email."profile_id"
    LEFT JOIN "account" ON account."tenant_app_id" = email."tenant_app_id" AND account."id" = profile."account_id"
    WHERE NOT EXISTS (
      SELECT FROM "event" AS written
      WHERE written."tenant_app_id" = email."tenant_app_id" AND written."resource_id" = email."profile_id"
        AND written."id" > own AND written."id" < own || 'g'
    );
  ELSE
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT email."tenant_app_id", 'PROFILE_SYNCED', email."profile_id", account."user_id", account."id"
    FROM (SELECT DISTINCT "tenant_app_id", "profile_id" FROM changed_rows OFFSET 0) AS email
    LEFT JOIN "profile" ON profile."tenant_app_id" = email."tenant_app_id" AND profile."id" = email."profile_id"
    LEFT JOIN "account" ON account."tenant_app_id" = email."tenant_app_id" AND account."id" = profile."account_id"
    WHERE (account."id" IS NOT NULL OR TG_OP <> 'DELETE') AND NOT EXISTS (
      SELECT FROM "event" AS written
      WHERE written."tenant_app_id" = email."tenant_app_id" AND written."resource_id" = email."profile_id"
        AND written."id" > own AND written."id" < own || 'g'
    );
  END IF;
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;
