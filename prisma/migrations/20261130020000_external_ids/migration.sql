-- What the tenant's own system knows of a user.
ALTER TABLE "user" ADD COLUMN "external_id" TEXT, ADD COLUMN "metadata" JSON;

ALTER TABLE "erasure" ADD COLUMN "external_id" TEXT;

-- Which fields of the schema a change wrote. Null for events of other kinds, and for those before this migration.
ALTER TABLE "event" ADD COLUMN "changed_fields" TEXT[];

-- Empty: events are sent whatever they changed.
ALTER TABLE "webhook" ADD COLUMN "fields" TEXT[] NOT NULL DEFAULT '{}';

-- As before (migration suspended_tenants), and an update names the fields that it wrote, except the time of the change, which every update writes.
CREATE OR REPLACE FUNCTION "write_events"() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  fields text[];
BEGIN
  IF TG_OP = 'UPDATE' AND TG_ARGV[3] = 'user' THEN
    fields := array_remove(ARRAY[
      CASE WHEN NEW."id" <> OLD."id" THEN 'id' END, CASE WHEN NEW."created_at" <> OLD."created_at" THEN 'createdAt' END,
      CASE WHEN NEW."name" <> OLD."name" THEN 'name' END, CASE WHEN NEW."email" <> OLD."email" THEN 'email' END,
      CASE WHEN NEW."phone" IS DISTINCT FROM OLD."phone" THEN 'phone' END,
      CASE WHEN NEW."external_id" IS DISTINCT FROM OLD."external_id" THEN 'externalId' END,
      CASE WHEN NEW."metadata"::text IS DISTINCT FROM OLD."metadata"::text THEN 'metadata' END], NULL);
  ELSIF TG_OP = 'UPDATE' AND TG_ARGV[3] = 'account' THEN
    fields := array_remove(ARRAY[
      CASE WHEN NEW."id" <> OLD."id" THEN 'id' END, CASE WHEN NEW."created_at" <> OLD."created_at" THEN 'createdAt' END,
      CASE WHEN NEW."user_id" <> OLD."user_id" THEN 'user' END, CASE WHEN NEW."platform" <> OLD."platform" THEN 'platform' END,
      CASE WHEN NEW."platform_account_id" <> OLD."platform_account_id" THEN 'platformAccountId' END,
      CASE WHEN NEW."display_name" <> OLD."display_name" THEN 'displayName' END, CASE WHEN NEW."status" <> OLD."status" THEN 'status' END], NULL);
  END IF;
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT changed."tenant_app_id", TG_ARGV[0], changed."id",
      CASE TG_ARGV[3] WHEN 'user' THEN changed."id" ELSE changed."user_id" END, CASE TG_ARGV[3] WHEN 'account' THEN changed."id" ELSE changed."account_id" END
    FROM (SELECT NULL AS "user_id", NULL AS "account_id") AS missing,
      LATERAL (SELECT "tenant_app_id", "id", "user_id", "account_id" FROM new_rows) AS changed;
  ELSIF TG_OP = 'UPDATE' AND TG_WHEN = 'AFTER' THEN
    IF NEW *= OLD THEN RETURN NULL; END IF;
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id", "changed_fields")
    SELECT changed."tenant_app_id", TG_ARGV[1], changed."id",
      CASE TG_ARGV[3] WHEN 'user' THEN changed."id" ELSE changed."user_id" END, CASE TG_ARGV[3] WHEN 'account' THEN changed."id" ELSE changed."account_id" END, fields
    FROM (SELECT NULL AS "user_id", NULL AS "account_id") AS missing,
      LATERAL (SELECT "tenant_app_id", "id", "user_id", "account_id" FROM (SELECT NEW.*) AS new_row) AS changed;
  ELSIF TG_OP = 'UPDATE' THEN
    -- A row that moves to another partition has no trigger after the update.
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id", "changed_fields")
    SELECT changed."tenant_app_id", TG_ARGV[1], changed."id",
      CASE TG_ARGV[3] WHEN 'user' THEN changed."id" ELSE changed."user_id" END, CASE TG_ARGV[3] WHEN 'account' THEN changed."id" ELSE changed."account_id" END, fields
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

-- As before (migration complete_events), with the fields. Those of a new profile are the ones that have a value.
CREATE OR REPLACE FUNCTION "write_profile_events"() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  fields text[];
BEGIN
  IF TG_OP = 'UPDATE' THEN
    fields := array_remove(ARRAY[
      CASE WHEN NEW."id" <> OLD."id" THEN 'id' END, CASE WHEN NEW."created_at" <> OLD."created_at" THEN 'createdAt' END,
      CASE WHEN NEW."account_id" <> OLD."account_id" THEN 'accountId' END, CASE WHEN NEW."platform" <> OLD."platform" THEN 'platform' END,
      CASE WHEN NEW."platform_account_id" <> OLD."platform_account_id" THEN 'platformAccountId' END,
      CASE WHEN NEW."username" IS DISTINCT FROM OLD."username" THEN 'username' END, CASE WHEN NEW."url" IS DISTINCT FROM OLD."url" THEN 'url' END,
      CASE WHEN NEW."gender" IS DISTINCT FROM OLD."gender" THEN 'gender' END,
      CASE WHEN NEW."full_name" IS DISTINCT FROM OLD."full_name" THEN 'fullName' END,
      CASE WHEN NEW."first_name" IS DISTINCT FROM OLD."first_name" THEN 'firstName' END,
      CASE WHEN NEW."last_name" IS DISTINCT FROM OLD."last_name" THEN 'lastName' END,
      CASE WHEN NEW."nick_name" IS DISTINCT FROM OLD."nick_name" THEN 'nickName' END,
      CASE WHEN NEW."display_name" IS DISTINCT FROM OLD."display_name" THEN 'displayName' END,
      CASE WHEN NEW."description" IS DISTINCT FROM OLD."description" THEN 'description' END,
      CASE WHEN NEW."profile_picture_url" IS DISTINCT FROM OLD."profile_picture_url" THEN 'profilePictureUrl' END,
      CASE WHEN NEW."date_of_birth" IS DISTINCT FROM OLD."date_of_birth" THEN 'dateOfBirth' END,
      CASE WHEN NEW."category" IS DISTINCT FROM OLD."category" THEN 'category' END,
      CASE WHEN NEW."website_url" IS DISTINCT FROM OLD."website_url" THEN 'websiteUrl' END,
      CASE WHEN NEW."country" IS DISTINCT FROM OLD."country" THEN 'country' END,
      CASE WHEN NEW."phone_numbers"::text IS DISTINCT FROM OLD."phone_numbers"::text THEN 'phoneNumbers' END,
      CASE WHEN NEW."addresses"::text IS DISTINCT FROM OLD."addresses"::text THEN 'addresses' END,
      CASE WHEN NEW."followers_count" IS DISTINCT FROM OLD."followers_count" THEN 'followersCount' END,
      CASE WHEN NEW."following_count" IS DISTINCT FROM OLD."following_count" THEN 'followingCount' END,
      CASE WHEN NEW."subscribers_count" IS DISTINCT FROM OLD."subscribers_count" THEN 'subscribersCount' END,
      CASE WHEN NEW."contents_count" IS DISTINCT FROM OLD."contents_count" THEN 'contentsCount' END,
      CASE WHEN NEW."watch_time_in_hours" IS DISTINCT FROM OLD."watch_time_in_hours" THEN 'watchTimeInHours' END,
      CASE WHEN NEW."joined_at" IS DISTINCT FROM OLD."joined_at" THEN 'joinedAt' END,
      CASE WHEN NEW."verified" IS DISTINCT FROM OLD."verified" THEN 'verified' END,
      CASE WHEN NEW."unsupported_fields" IS DISTINCT FROM OLD."unsupported_fields" THEN 'unsupportedFields' END], NULL);
  END IF;
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id", "changed_fields")
    SELECT changed."tenant_app_id", 'PROFILE_SYNCED', changed."id",
      (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = changed."tenant_app_id" AND "id" = changed."account_id"), changed."account_id", array_remove(ARRAY[
        CASE WHEN changed."username" IS NOT NULL THEN 'username' END, CASE WHEN changed."url" IS NOT NULL THEN 'url' END,
        CASE WHEN changed."gender" IS NOT NULL THEN 'gender' END, CASE WHEN changed."full_name" IS NOT NULL THEN 'fullName' END,
        CASE WHEN changed."first_name" IS NOT NULL THEN 'firstName' END, CASE WHEN changed."last_name" IS NOT NULL THEN 'lastName' END,
        CASE WHEN changed."nick_name" IS NOT NULL THEN 'nickName' END, CASE WHEN changed."display_name" IS NOT NULL THEN 'displayName' END,
        CASE WHEN changed."description" IS NOT NULL THEN 'description' END,
        CASE WHEN changed."profile_picture_url" IS NOT NULL THEN 'profilePictureUrl' END,
        CASE WHEN changed."date_of_birth" IS NOT NULL THEN 'dateOfBirth' END, CASE WHEN changed."category" IS NOT NULL THEN 'category' END,
        CASE WHEN changed."website_url" IS NOT NULL THEN 'websiteUrl' END, CASE WHEN changed."country" IS NOT NULL THEN 'country' END,
        CASE WHEN changed."phone_numbers"::text <> '[]' THEN 'phoneNumbers' END, CASE WHEN changed."addresses"::text <> '[]' THEN 'addresses' END,
        CASE WHEN changed."followers_count" IS NOT NULL THEN 'followersCount' END,
        CASE WHEN changed."following_count" IS NOT NULL THEN 'followingCount' END,
        CASE WHEN changed."subscribers_count" IS NOT NULL THEN 'subscribersCount' END,
        CASE WHEN changed."contents_count" IS NOT NULL THEN 'contentsCount' END,
        CASE WHEN changed."watch_time_in_hours" IS NOT NULL THEN 'watchTimeInHours' END,
        CASE WHEN changed."joined_at" IS NOT NULL THEN 'joinedAt' END, CASE WHEN changed."verified" IS NOT NULL THEN 'verified' END,
        CASE WHEN changed."unsupported_fields" <> '{}' THEN 'unsupportedFields' END], NULL)
    FROM new_rows AS changed;
  ELSIF TG_OP = 'UPDATE' AND TG_WHEN = 'AFTER' THEN
    NEW."synced_at" := OLD."synced_at";
    IF NEW *= OLD THEN RETURN NULL; END IF;
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id", "changed_fields") VALUES (NEW."tenant_app_id", 'PROFILE_SYNCED', NEW."id",
      (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = NEW."tenant_app_id" AND "id" = NEW."account_id"), NEW."account_id", fields);
  ELSIF TG_OP = 'UPDATE' THEN
    -- A row that moves to another partition has no trigger after the update. If the account got another id, it is found by that.
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id", "changed_fields")
    SELECT changed."tenant_app_id", 'PROFILE_SYNCED', changed."id", coalesce(
        (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = changed."tenant_app_id" AND "id" = changed."account_id"),
        (SELECT "user_id" FROM "account" WHERE "tenant_app_id" = NEW."tenant_app_id" AND "id" = NEW."account_id")), changed."account_id", fields
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

-- As before (migration events_of_emails). If the profile has an event of this transaction, that one names the emails too: nobody has read it yet.
CREATE OR REPLACE FUNCTION "write_email_events"() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  own text := "transaction_prefix"();
BEGIN
  IF TG_OP = 'UPDATE' THEN
    UPDATE "event" AS written SET "changed_fields" = array_append(written."changed_fields", 'emails')
    FROM (
      SELECT DISTINCT "tenant_app_id", "profile_id" FROM (
        (TABLE changed_rows EXCEPT TABLE old_rows) UNION ALL (TABLE old_rows EXCEPT TABLE changed_rows)) AS different OFFSET 0
    ) AS email
    WHERE written."tenant_app_id" = email."tenant_app_id" AND written."type" = 'PROFILE_SYNCED'
      AND written."resource_id" = email."profile_id" AND written."id" > own AND written."id" < own || 'g'
      AND NOT 'emails' = ANY (written."changed_fields");
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id", "changed_fields")
    SELECT email."tenant_app_id", 'PROFILE_SYNCED', email."profile_id", account."user_id", account."id", ARRAY['emails']
    FROM (
      SELECT DISTINCT "tenant_app_id", "profile_id" FROM (
        (TABLE changed_rows EXCEPT TABLE old_rows) UNION ALL (TABLE old_rows EXCEPT TABLE changed_rows)) AS different OFFSET 0
    ) AS email
    LEFT JOIN "profile" ON profile."tenant_app_id" = email."tenant_app_id" AND profile."id" = email."profile_id"
    LEFT JOIN "account" ON account."tenant_app_id" = email."tenant_app_id" AND account."id" = profile."account_id"
    WHERE NOT EXISTS (
      SELECT FROM "event" AS written
      WHERE written."tenant_app_id" = email."tenant_app_id" AND written."type" = 'PROFILE_SYNCED'
        AND written."resource_id" = email."profile_id" AND written."id" > own AND written."id" < own || 'g'
    );
  ELSE
    UPDATE "event" AS written SET "changed_fields" = array_append(written."changed_fields", 'emails')
    FROM (SELECT DISTINCT "tenant_app_id", "profile_id" FROM changed_rows OFFSET 0) AS email
    WHERE written."tenant_app_id" = email."tenant_app_id" AND written."type" = 'PROFILE_SYNCED'
      AND written."resource_id" = email."profile_id" AND written."id" > own AND written."id" < own || 'g'
      AND NOT 'emails' = ANY (written."changed_fields");
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id", "changed_fields")
    SELECT email."tenant_app_id", 'PROFILE_SYNCED', email."profile_id", account."user_id", account."id", ARRAY['emails']
    FROM (SELECT DISTINCT "tenant_app_id", "profile_id" FROM changed_rows OFFSET 0) AS email
    LEFT JOIN "profile" ON profile."tenant_app_id" = email."tenant_app_id" AND profile."id" = email."profile_id"
    LEFT JOIN "account" ON account."tenant_app_id" = email."tenant_app_id" AND account."id" = profile."account_id"
    WHERE (account."id" IS NOT NULL OR TG_OP <> 'DELETE') AND NOT EXISTS (
      SELECT FROM "event" AS written
      WHERE written."tenant_app_id" = email."tenant_app_id" AND written."type" = 'PROFILE_SYNCED'
        AND written."resource_id" = email."profile_id" AND written."id" > own AND written."id" < own || 'g'
    );
  END IF;
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

-- As before (migration names_by_type), and texts can name a user by the id in the tenant's own system.
CREATE OR REPLACE FUNCTION "request_erasure"() RETURNS trigger SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO "erasure" ("tenant_app_id", "id", "external_id", "names")
  SELECT OLD."tenant_app_id", OLD."id", OLD."external_id", ARRAY(
    SELECT "name" FROM "account"
    LEFT JOIN "profile" ON "profile"."tenant_app_id" = OLD."tenant_app_id" AND "profile"."account_id" = "account"."id",
    LATERAL (VALUES ('acc\_%', "account"."id"), ('prf\_%', "profile"."id")) AS "named" ("pattern", "name")
    WHERE "account"."tenant_app_id" = OLD."tenant_app_id" AND "account"."user_id" = OLD."id" AND "name" LIKE "pattern")
  -- The jobs and responses of a tenant are deleted with it.
  FROM "tenant_app" WHERE "tenant_app"."id" = OLD."tenant_app_id" AND "tenant_app"."deleting_since" IS NULL
  ON CONFLICT ("tenant_app_id", "id") DO UPDATE SET
    "external_id" = excluded."external_id", "names" = excluded."names", "deleted_at" = excluded."deleted_at", "due_at" = excluded."due_at", "jobs" = NULL, "seen_in" = NULL;
  RETURN OLD;
END
$$ LANGUAGE plpgsql;
