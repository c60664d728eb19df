-- Each change of a user, account, profile or email has an event that names its user, so that the log says whether what was read is still true.
-- Until now these had none: a change of the time of the last change alone, a profile that was deleted by hand, and, if a row got another owner,
-- tenant or id, its former owner.

-- Writes the events of a table. Arguments: the types of an insertion, an update and a deletion, and 'user' or 'account' for the table of those.
-- "user_id" and "account_id" without a table are the columns of the changed table if it has them, and otherwise those of the query around it: null.
CREATE OR REPLACE FUNCTION "write_events"() RETURNS trigger SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", TG_ARGV[0], changed."id",
      CASE TG_ARGV[3] WHEN 'user' THEN changed."id" ELSE changed."user_id" END, CASE TG_ARGV[3] WHEN 'account' THEN changed."id" ELSE changed."account_id" END
    FROM (SELECT NULL AS "user_id", NULL AS "account_id") AS missing,
      LATERAL (SELECT "tenant_app_id", "id", "user_id", "account_id" FROM new_rows) AS changed;
  ELSIF TG_OP = 'UPDATE' AND TG_WHEN = 'AFTER' THEN
    IF NEW *= OLD THEN RETURN NULL; END IF;
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", TG_ARGV[1], changed."id",
      CASE TG_ARGV[3] WHEN 'user' THEN changed."id" ELSE changed."user_id" END, CASE TG_ARGV[3] WHEN 'account' THEN changed."id" ELSE changed."account_id" END
    FROM (SELECT NULL AS "user_id", NULL AS "account_id") AS missing,
      LATERAL (SELECT "tenant_app_id", "id", "user_id", "account_id" FROM (SELECT NEW.*) AS new_row) AS changed;
  ELSIF TG_OP = 'UPDATE' THEN
    -- A row that moves to another partition has no trigger after the update.
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", TG_ARGV[1], changed."id",
      CASE TG_ARGV[3] WHEN 'user' THEN changed."id" ELSE changed."user_id" END, CASE TG_ARGV[3] WHEN 'account' THEN changed."id" ELSE changed."account_id" END
    FROM (SELECT NULL AS "user_id", NULL AS "account_id") AS missing,
      LATERAL (
        SELECT "tenant_app_id", "id", "user_id", "account_id" FROM (SELECT OLD.*) AS old_row
        UNION ALL SELECT "tenant_app_id", "id", "user_id", "account_id" FROM (SELECT NEW.*) AS new_row WHERE "tenant_app_id" <> OLD."tenant_app_id"
      ) AS changed
    WHERE EXISTS (SELECT FROM "tenant_app" WHERE "tenant_app"."id" = changed."tenant_app_id");
    IF FOUND THEN PERFORM "announce_events"(); END IF;
    RETURN NEW;
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

-- Writing the time of the last sync is no change. A profile that is deleted with its account has no event: that of the account says so.
CREATE OR REPLACE FUNCTION "write_profile_events"() RETURNS trigger SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", 'PROFILE_SYNCED', changed."id",
      (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = changed."tenant_app_id" AND "id" = changed."account_id"), changed."account_id"
    FROM new_rows AS changed;
  ELSIF TG_OP = 'UPDATE' AND TG_WHEN = 'AFTER' THEN
    NEW."synced_at" := OLD."synced_at";
    IF NEW *= OLD THEN RETURN NULL; END IF;
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id") VALUES (NEW."tenant_app_id", 'PROFILE_SYNCED', NEW."id",
      (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = NEW."tenant_app_id" AND "id" = NEW."account_id"), NEW."account_id");
  ELSIF TG_OP = 'UPDATE' THEN
    -- A row that moves to another partition has no trigger after the update. If the account got another id, it is found by that.
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", 'PROFILE_SYNCED', changed."id", coalesce(
        (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = changed."tenant_app_id" AND "id" = changed."account_id"),
        (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = NEW."tenant_app_id" AND "id" = NEW."account_id")), changed."account_id"
    FROM (VALUES (OLD."tenant_app_id", OLD."id", OLD."account_id"), (NEW."tenant_app_id", NEW."id", NEW."account_id"))
      AS changed ("tenant_app_id", "id", "account_id")
    WHERE (changed."tenant_app_id" = OLD."tenant_app_id" AND changed."id" = OLD."id" AND changed."account_id" = OLD."account_id"
        OR NEW."tenant_app_id" <> OLD."tenant_app_id")
      AND EXISTS (SELECT FROM "tenant_app" WHERE "tenant_app"."id" = changed."tenant_app_id");
    IF FOUND THEN PERFORM "announce_events"(); END IF;
    RETURN NEW;
  ELSE
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT deleted."tenant_app_id", 'PROFILE_SYNCED', deleted."id", deleted."user_id", deleted."account_id"
    FROM (
      SELECT changed."tenant_app_id", changed."id", changed."account_id",
        (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = changed."tenant_app_id" AND "id" = changed."account_id") AS "user_id"
      FROM old_rows AS changed OFFSET 0
    ) AS deleted WHERE deleted."user_id" IS NOT NULL;
  END IF;
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

-- Emails are a part of their profile, which has one event per transaction. The ids of this transaction's events begin with its prefix, and
-- go on with hexadecimal digits, which are less than g. Later transactions can have written events with greater ids.
CREATE OR REPLACE FUNCTION "write_email_events"() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  own text := "transaction_prefix"();
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT profile."tenant_app_id", 'PROFILE_SYNCED', profile."id", account."user_id", account."id"
    FROM (
      SELECT DISTINCT "tenant_app_id", "profile_id" FROM (
        (TABLE changed_rows EXCEPT TABLE old_rows) UNION ALL (TABLE old_rows EXCEPT TABLE changed_rows)) AS different OFFSET 0
    ) AS email
    JOIN "profile" ON profile."tenant_app_id" = email."tenant_app_id" AND profile."id" = email."profile_id"
    JOIN "account" ON account."tenant_app_id" = email."tenant_app_id" AND account."id" = profile."account_id"
    WHERE NOT EXISTS (
      SELECT FROM "event" AS written
      WHERE written."tenant_app_id" = email."tenant_app_id" AND written."resource_id" = email."profile_id"
        AND written."id" > own AND written."id" < own || 'g'
    );
  ELSE
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT profile."tenant_app_id", 'PROFILE_SYNCED', profile."id", account."user_id", account."id"
    FROM (SELECT DISTINCT "tenant_app_id", "profile_id" FROM changed_rows OFFSET 0) AS email
    JOIN "profile" ON profile."tenant_app_id" = email."tenant_app_id" AND profile."id" = email."profile_id"
    JOIN "account" ON account."tenant_app_id" = email."tenant_app_id" AND account."id" = profile."account_id"
    WHERE NOT EXISTS (
      SELECT FROM "event" AS written
      WHERE written."tenant_app_id" = email."tenant_app_id" AND written."resource_id" = email."profile_id"
        AND written."id" > own AND written."id" < own || 'g'
    );
  END IF;
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

-- The events of the former owner. The gateway changes no key of a row: an update without these columns does not call the function.
CREATE TRIGGER "moved" BEFORE UPDATE OF "tenant_app_id", "id" ON "user" FOR EACH ROW
  WHEN (OLD."tenant_app_id" <> NEW."tenant_app_id" OR OLD."id" <> NEW."id")
  EXECUTE FUNCTION "write_events"('USER_CREATED', 'USER_UPDATED', 'USER_DELETED', 'user');
CREATE TRIGGER "moved" BEFORE UPDATE OF "tenant_app_id", "id", "user_id" ON "account" FOR EACH ROW
  WHEN (OLD."tenant_app_id" <> NEW."tenant_app_id" OR OLD."id" <> NEW."id" OR OLD."user_id" <> NEW."user_id")
  EXECUTE FUNCTION "write_events"('ACCOUNT_LINKED', 'ACCOUNT_UPDATED', 'ACCOUNT_UNLINKED', 'account');
CREATE TRIGGER "moved" BEFORE UPDATE OF "tenant_app_id", "id", "account_id" ON "profile" FOR EACH ROW
  WHEN (OLD."tenant_app_id" <> NEW."tenant_app_id" OR OLD."id" <> NEW."id" OR OLD."account_id" <> NEW."account_id")
  EXECUTE FUNCTION "write_profile_events"();

CREATE TRIGGER "deleted" AFTER DELETE ON "profile" REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_profile_events"();

DROP TRIGGER "updated" ON "email_record";
CREATE TRIGGER "updated" AFTER UPDATE ON "email_record" REFERENCING OLD TABLE AS old_rows NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_email_events"();

-- The position of a snapshot in the log: it sees all events with ids below "begun", except those that begin with a prefix in "running", and no
-- others. It is a position of this log only: "server" is another text after a restart, and if the table or the offset is another one. A snapshot
-- of a standby does not say which transactions run, so there "begun" is the oldest of them, and the snapshot may see later events too.
-- A statement that reads it in FROM has the body in its own plan, because it returns a table and is not VOLATILE.
CREATE FUNCTION "event_position"() RETURNS TABLE ("server" text, "begun" text, "running" text[]) AS $$
  SELECT concat_ws(' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, 'public.event'::regclass::oid, "event_state"."offset"),
    "event_prefix"("event_state"."offset" +
      CASE WHEN pg_is_in_recovery() THEN pg_snapshot_xmin(pg_current_snapshot()) ELSE pg_snapshot_xmax(pg_current_snapshot()) END::text::bigint),
    ARRAY(
      SELECT "event_prefix"("event_state"."offset" + "number"::text::bigint) FROM pg_snapshot_xip(pg_current_snapshot()) AS "number")
  FROM "event_state"
$$ LANGUAGE sql STABLE;
