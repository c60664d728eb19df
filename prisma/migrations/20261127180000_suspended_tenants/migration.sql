-- A tenant can be suspended, and deleted in pages (src/domain/tenant/).
ALTER TABLE "tenant_app" ADD COLUMN "suspended_at" TIMESTAMPTZ(3), ADD COLUMN "deleting_since" TIMESTAMPTZ(3);

-- Each claim of a worker looks for the tenants that are suspended.
CREATE INDEX "tenant_app_suspended_at_idx" ON "tenant_app"("suspended_at");

-- While a tenant is deleted, its rows leave no events and no requests for erasures, which would be deleted next.

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
    WHERE EXISTS (SELECT FROM "tenant_app" WHERE "tenant_app"."id" = changed."tenant_app_id" AND "tenant_app"."deleting_since" IS NULL);
  END IF;
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

-- The accounts and profiles are deleted after this, with the user.
CREATE OR REPLACE FUNCTION "request_erasure"() RETURNS trigger SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO "erasure" ("tenant_app_id", "id", "names")
  SELECT OLD."tenant_app_id", OLD."id", ARRAY(
    SELECT unnest(ARRAY["account"."id", "profile"."id"]) FROM "account"
    LEFT JOIN "profile" ON "profile"."tenant_app_id" = OLD."tenant_app_id" AND "profile"."account_id" = "account"."id"
    WHERE "account"."tenant_app_id" = OLD."tenant_app_id" AND "account"."user_id" = OLD."id")
  -- The jobs and responses of a tenant are deleted with it.
  FROM "tenant_app" WHERE "tenant_app"."id" = OLD."tenant_app_id" AND "tenant_app"."deleting_since" IS NULL
  ON CONFLICT ("tenant_app_id", "id") DO UPDATE SET
    "names" = excluded."names", "deleted_at" = excluded."deleted_at", "due_at" = excluded."due_at", "jobs" = NULL, "seen_in" = NULL;
  RETURN OLD;
END
$$ LANGUAGE plpgsql;
