-- A transaction in another database of the server cannot write events of this one, but has a number before later ones, so the log waited for it.

-- The numbers of running transactions that are known to belong to other databases. A transaction never changes its database, so this stays true. The
-- transaction that notes a number has a greater one, so no crash can lose the number and keep the note.
ALTER TABLE "event_state" ADD COLUMN "others" BIGINT[] NOT NULL DEFAULT '{}';

-- As before (migration event_log). The numbers of another server mean nothing here.
CREATE OR REPLACE FUNCTION "event_offset"() RETURNS bigint AS $$
DECLARE
  present bigint;
  state "event_state";
BEGIN
  SELECT system_identifier INTO present FROM pg_control_system();
  SELECT * INTO state FROM "event_state";
  IF state."server" <> present THEN
    SELECT * INTO state FROM "event_state" FOR UPDATE;
  END IF;
  IF state."server" <> present THEN
    UPDATE "event_state" SET
      "server" = present,
      "offset" = "next_offset"(),
      "others" = '{}'
    RETURNING * INTO state;
  END IF;
  PERFORM set_config('fusion.event_offset', state."offset"::text, false);
  RETURN state."offset";
END
$$ LANGUAGE plpgsql;

-- As before (migration event_log), without the transactions of other databases. A snapshot lists neither the transaction that takes it, nor, on a
-- standby, the others.
CREATE OR REPLACE FUNCTION "event_horizon"(OUT "complete" text, OUT "begun" text) AS $$
  SELECT
    "event_prefix"(CASE WHEN NOT is_same THEN "next_offset"() ELSE "offset" +
      CASE WHEN "others" = '{}' OR pg_is_in_recovery() THEN pg_snapshot_xmin(present)::text::bigint ELSE least(
        (SELECT min("number"::text::bigint) FROM pg_snapshot_xip(present) AS "number" WHERE "number"::text::bigint <> ALL ("others")),
        pg_current_xact_id_if_assigned()::text::bigint, pg_snapshot_xmax(present)::text::bigint) END END),
    "event_prefix"(CASE WHEN is_same THEN "offset" + pg_snapshot_xmax(present)::text::bigint ELSE "next_offset"() END)
  -- If the server is another one, a backup was restored, and nothing has been written since.
  FROM (SELECT "offset", "others", "server" = system_identifier AS is_same, pg_current_snapshot() AS present
    FROM "event_state", pg_control_system()) AS state
$$ LANGUAGE sql STABLE;

-- Notes which running transactions belong to other databases. Returns whether there are new ones. Each statement here comes after the one before it:
-- a transaction of the snapshot that still has its number when the locks are read has had the same process all the time, and so when the databases of
-- the processes were read. A process whose database is not known yet, and a transaction that has ended, count as ours.
CREATE FUNCTION "note_other_transactions"() RETURNS boolean AS $$
DECLARE
  running bigint[];
  elsewhere integer[];
  noted bigint[];
BEGIN
  running := ARRAY(SELECT "number"::text::bigint FROM pg_snapshot_xip(pg_current_snapshot()) AS "number");
  PERFORM pg_stat_clear_snapshot();
  elsewhere := ARRAY(SELECT pid FROM pg_stat_activity WHERE datid <> (SELECT oid FROM pg_database WHERE datname = current_database()));
  noted := ARRAY(
    SELECT "number" FROM unnest(running) AS "number"
    WHERE "number"::text::xid8::xid IN (
      SELECT transactionid FROM pg_locks
      WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted AND pid = ANY (elsewhere)
      UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database <> current_database()
    )
    ORDER BY 1);
  UPDATE "event_state" SET "others" = noted WHERE noted <> "others" AND "server" = (SELECT system_identifier FROM pg_control_system());
  RETURN FOUND;
END
$$ LANGUAGE plpgsql;
