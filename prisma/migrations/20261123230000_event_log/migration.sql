-- The event log: one row for each change of a user, account, profile or job, written by triggers in the transaction of the change, so that
-- no writer can leave it out.
CREATE FUNCTION "actor_key"() RETURNS text AS $$
  SELECT nullif(split_part(current_setting('fusion.actor', true), ' ', 1), '')
$$ LANGUAGE sql STABLE;

CREATE FUNCTION "actor_request"() RETURNS text AS $$
  SELECT nullif(split_part(current_setting('fusion.actor', true), ' ', 2), '')
$$ LANGUAGE sql STABLE;

CREATE TABLE "event" (
    "tenant_app_id" TEXT NOT NULL,
    -- evt_, and in hexadecimal digits: the number of the transaction (12) and of the event (12). Ids sort in the order in which the log is read.
    "id" TEXT COLLATE "C" NOT NULL,
    "type" TEXT NOT NULL,
    "resource_id" TEXT NOT NULL,
    "user_id" TEXT,
    "account_id" TEXT,
    -- Who changed the resource, if a request did (src/engine/db/actor.ts).
    "key_id" TEXT DEFAULT "actor_key"(),
    "request_id" TEXT DEFAULT "actor_request"(),
    -- The state of a job after and before the change.
    "status" TEXT,
    "status_before" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),

    CONSTRAINT "event_pkey" PRIMARY KEY ("tenant_app_id", "id")
);

-- A log is read by tenant, by resource (its history) and by user (tokens).
CREATE INDEX "event_tenant_app_id_resource_id_id_idx" ON "event"("tenant_app_id", "resource_id", "id");
CREATE INDEX "event_tenant_app_id_user_id_id_idx" ON "event"("tenant_app_id", "user_id", "id");

-- The greatest id that was removed because of its age.
ALTER TABLE "tenant_app" ADD COLUMN "events_removed_to" TEXT COLLATE "C";

-- PostgreSQL counts transactions per server. A backup that is restored into another server must not begin again with small numbers, so
-- the number of a transaction is that of the server plus an offset, which grows when the server changes.
CREATE TABLE "event_state" (
    "id" TEXT NOT NULL DEFAULT 'log',
    "server" BIGINT NOT NULL,
    "offset" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "event_state_pkey" PRIMARY KEY ("id")
);
INSERT INTO "event_state" ("server") SELECT system_identifier FROM pg_control_system();

CREATE FUNCTION "event_prefix"("transaction" bigint) RETURNS text AS $$
  SELECT 'evt_' || lpad(to_hex("transaction"), 12, '0')
$$ LANGUAGE sql IMMUTABLE;

-- The offset with which all ids are greater than those of the events that exist.
CREATE FUNCTION "next_offset"() RETURNS bigint AS $$
  SELECT coalesce(max(('x' || lpad(substr("id", 5, 12), 16, '0'))::bit(64)::bigint), 0) + 1 FROM "event"
$$ LANGUAGE sql STABLE;

-- The offset of this server. A session asks once, and keeps it as a setting.
CREATE FUNCTION "event_offset"() RETURNS bigint AS $$
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
      "offset" = "next_offset"()
    RETURNING * INTO state;
  END IF;
  PERFORM set_config('fusion.event_offset', state."offset"::text, false);
  RETURN state."offset";
END
$$ LANGUAGE plpgsql;

-- The start of the ids of the events of this transaction.
CREATE FUNCTION "transaction_prefix"() RETURNS text AS $$
  SELECT "event_prefix"(
    coalesce(nullif(current_setting('fusion.event_offset', true), '')::bigint, "event_offset"()) + pg_current_xact_id()::text::bigint
  )
$$ LANGUAGE sql;

-- The numbers of events. A session takes 32 at a time, and a transaction has one session, so they grow within a transaction.
CREATE SEQUENCE "event_number" CACHE 32;
-- Roles that write rows have privileges on tables only.
GRANT USAGE ON SEQUENCE "event_number" TO PUBLIC;

CREATE FUNCTION "next_event_id"() RETURNS text AS $$
  SELECT "transaction_prefix"() || lpad(to_hex(nextval('event_number')), 12, '0')
$$ LANGUAGE sql;

ALTER TABLE "event" ALTER COLUMN "id" SET DEFAULT "next_event_id"();

-- "complete": the transactions that wrote events with smaller ids have ended. "begun": those with greater ids have not begun.
CREATE FUNCTION "event_horizon"(OUT "complete" text, OUT "begun" text) AS $$
  SELECT
    "event_prefix"(CASE WHEN is_same THEN "offset" + pg_snapshot_xmin(present)::text::bigint ELSE "next_offset"() END),
    "event_prefix"(CASE WHEN is_same THEN "offset" + pg_snapshot_xmax(present)::text::bigint ELSE "next_offset"() END)
  -- If the server is another one, a backup was restored, and nothing has been written since.
  FROM (SELECT "offset", "server" = system_identifier AS is_same, pg_current_snapshot() AS present
    FROM "event_state", pg_control_system()) AS state
$$ LANGUAGE sql STABLE;

-- Tells the processes that follow the log. A transaction that notifies keeps others from committing at the same time, so one does it on
-- behalf of those that run meanwhile. The followers read again until all of these have ended (src/domain/event/event-feed.ts).
CREATE FUNCTION "announce_events"() RETURNS boolean AS $$
  SELECT pg_try_advisory_xact_lock(4070227) AND pg_notify('event_written', '') IS NOT NULL
$$ LANGUAGE sql;

-- The functions above are single expressions without SET, which PostgreSQL puts in the place of their calls. A call would cost each write microseconds.

-- Insertions and deletions have one trigger per statement, because imports insert many rows. An update has one per row: it has both versions of
-- the row, so they need not be joined. Columns of type json have no equality, so the bytes of rows are compared.

-- Writes the events of a table. Arguments: the types of an insertion, an update and a deletion, and 'user' or 'account' for the table of those.
-- "user_id" and "account_id" without a table are the columns of the changed table if it has them, and otherwise those of the query around it: null.
CREATE FUNCTION "write_events"() RETURNS trigger AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", TG_ARGV[0], changed."id",
      CASE TG_ARGV[3] WHEN 'user' THEN changed."id" ELSE changed."user_id" END, CASE TG_ARGV[3] WHEN 'account' THEN changed."id" ELSE changed."account_id" END
    FROM (SELECT NULL AS "user_id", NULL AS "account_id") AS missing,
      LATERAL (SELECT "tenant_app_id", "id", "user_id", "account_id" FROM new_rows) AS changed;
  ELSIF TG_OP = 'UPDATE' THEN
    NEW."updated_at" := OLD."updated_at";
    IF NEW *= OLD THEN RETURN NULL; END IF;
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", TG_ARGV[1], changed."id",
      CASE TG_ARGV[3] WHEN 'user' THEN changed."id" ELSE changed."user_id" END, CASE TG_ARGV[3] WHEN 'account' THEN changed."id" ELSE changed."account_id" END
    FROM (SELECT NULL AS "user_id", NULL AS "account_id") AS missing,
      LATERAL (SELECT "tenant_app_id", "id", "user_id", "account_id" FROM (SELECT NEW.*) AS new_row) AS changed;
  ELSE
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", TG_ARGV[2], changed."id",
      CASE TG_ARGV[3] WHEN 'user' THEN changed."id" ELSE changed."user_id" END, CASE TG_ARGV[3] WHEN 'account' THEN changed."id" ELSE changed."account_id" END
    FROM (SELECT NULL AS "user_id", NULL AS "account_id") AS missing,
      LATERAL (SELECT "tenant_app_id", "id", "user_id", "account_id" FROM old_rows) AS changed
    -- The events of a tenant are deleted with it.
    WHERE EXISTS (SELECT FROM "tenant_app" WHERE "tenant_app"."id" = changed."tenant_app_id");
  END IF;
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

-- A profile is deleted with its account only, whose event says so. Writing the time of the last sync is no change.
CREATE FUNCTION "write_profile_events"() RETURNS trigger AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", 'PROFILE_SYNCED', changed."id",
      (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = changed."tenant_app_id" AND "id" = changed."account_id"), changed."account_id"
    FROM new_rows AS changed;
  ELSE
    NEW."updated_at" := OLD."updated_at";
    NEW."synced_at" := OLD."synced_at";
    IF NEW *= OLD THEN RETURN NULL; END IF;
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id") VALUES (NEW."tenant_app_id", 'PROFILE_SYNCED', NEW."id",
      (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = NEW."tenant_app_id" AND "id" = NEW."account_id"), NEW."account_id");
  END IF;
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

-- Emails are a part of their profile, which has one event per transaction.
CREATE FUNCTION "write_email_events"() RETURNS trigger AS $$
BEGIN
  INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
  SELECT profile."tenant_app_id", 'PROFILE_SYNCED', profile."id", account."user_id", account."id"
  FROM (SELECT DISTINCT "tenant_app_id", "profile_id" FROM changed_rows OFFSET 0) AS email
  JOIN "profile" ON profile."tenant_app_id" = email."tenant_app_id" AND profile."id" = email."profile_id"
  JOIN "account" ON account."tenant_app_id" = email."tenant_app_id" AND account."id" = profile."account_id"
  WHERE NOT EXISTS (
    SELECT FROM "event" AS written
    WHERE written."tenant_app_id" = email."tenant_app_id" AND written."resource_id" = email."profile_id" AND written."id" > "transaction_prefix"()
  );
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

-- Extending a lease is no change.
CREATE FUNCTION "write_job_events"() RETURNS trigger AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "status")
    SELECT changed."tenant_app_id", 'JOB_CREATED', changed."id", changed."status" FROM new_rows AS changed;
  ELSE
    IF (NEW."updated_at", NEW."status", NEW."progress", NEW."progress_message")
      IS NOT DISTINCT FROM (OLD."updated_at", OLD."status", OLD."progress", OLD."progress_message") THEN RETURN NULL; END IF;
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "status", "status_before") VALUES (NEW."tenant_app_id", CASE
        WHEN NEW."status" = 'RUNNING' AND NEW."attempts" <> OLD."attempts" THEN 'JOB_STARTED'
        WHEN NEW."status" = OLD."status" THEN 'JOB_UPDATED'
        WHEN NEW."status" = 'RUNNING' THEN 'JOB_STARTED'
        WHEN NEW."status" = 'PENDING' THEN 'JOB_RETRIED'
        ELSE 'JOB_' || NEW."status"
      END, NEW."id", NEW."status", OLD."status");
  END IF;
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER "inserted" AFTER INSERT ON "user" REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_events"('USER_CREATED', 'USER_UPDATED', 'USER_DELETED', 'user');
CREATE TRIGGER "updated" AFTER UPDATE ON "user"
  FOR EACH ROW EXECUTE FUNCTION "write_events"('USER_CREATED', 'USER_UPDATED', 'USER_DELETED', 'user');
CREATE TRIGGER "deleted" AFTER DELETE ON "user" REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_events"('USER_CREATED', 'USER_UPDATED', 'USER_DELETED', 'user');

CREATE TRIGGER "inserted" AFTER INSERT ON "account" REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_events"('ACCOUNT_LINKED', 'ACCOUNT_UPDATED', 'ACCOUNT_UNLINKED', 'account');
CREATE TRIGGER "updated" AFTER UPDATE ON "account"
  FOR EACH ROW EXECUTE FUNCTION "write_events"('ACCOUNT_LINKED', 'ACCOUNT_UPDATED', 'ACCOUNT_UNLINKED', 'account');
CREATE TRIGGER "deleted" AFTER DELETE ON "account" REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_events"('ACCOUNT_LINKED', 'ACCOUNT_UPDATED', 'ACCOUNT_UNLINKED', 'account');

CREATE TRIGGER "inserted" AFTER INSERT ON "profile" REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_profile_events"();
CREATE TRIGGER "updated" AFTER UPDATE ON "profile"
  FOR EACH ROW EXECUTE FUNCTION "write_profile_events"();

CREATE TRIGGER "inserted" AFTER INSERT ON "email_record" REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_email_events"();
CREATE TRIGGER "updated" AFTER UPDATE ON "email_record" REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_email_events"();
CREATE TRIGGER "deleted" AFTER DELETE ON "email_record" REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_email_events"();

-- The log replaces the notifications of each change of a job. Gateways of the previous release listen to them: the next release drops
-- their triggers.

CREATE TRIGGER "inserted" AFTER INSERT ON "job" REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_job_events"();
CREATE TRIGGER "updated" AFTER UPDATE ON "job"
  FOR EACH ROW EXECUTE FUNCTION "write_job_events"();

-- The events of a tenant are deleted with it. A foreign key would cost each event a lookup of the tenant.
CREATE FUNCTION "delete_events"() RETURNS trigger AS $$
BEGIN
  DELETE FROM "event" USING old_rows WHERE "event"."tenant_app_id" = old_rows."id";
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER "deleted" AFTER DELETE ON "tenant_app" REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "delete_events"();
