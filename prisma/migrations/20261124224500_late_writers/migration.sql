-- A transaction that began before the deletion of a user can still write a job or a response that names the user. So what names the user is
-- looked for when all transactions have ended that ran when maintenance first saw the deletion (src/domain/erasure/erase-users.ts).
ALTER TABLE "erasure" ADD COLUMN "seen_in" TEXT COLLATE "C";

CREATE OR REPLACE FUNCTION "request_erasure"() RETURNS trigger AS $$
BEGIN
  INSERT INTO "erasure" ("tenant_app_id", "id", "names")
  SELECT OLD."tenant_app_id", OLD."id", ARRAY(
    SELECT unnest(ARRAY["account"."id", "profile"."id"]) FROM "account"
    LEFT JOIN "profile" ON "profile"."tenant_app_id" = OLD."tenant_app_id" AND "profile"."account_id" = "account"."id"
    WHERE "account"."tenant_app_id" = OLD."tenant_app_id" AND "account"."user_id" = OLD."id")
  -- The jobs and responses of a tenant are deleted with it.
  FROM "tenant_app" WHERE "tenant_app"."id" = OLD."tenant_app_id"
  ON CONFLICT ("tenant_app_id", "id") DO UPDATE SET
    "names" = excluded."names", "deleted_at" = excluded."deleted_at", "due_at" = excluded."due_at", "jobs" = NULL, "seen_in" = NULL;
  RETURN OLD;
END
$$ LANGUAGE plpgsql;

-- Emails are a part of their profile, which has one event per transaction. The ids of this transaction's events begin with its prefix, and
-- go on with hexadecimal digits, which are less than g. Later transactions can have written events with greater ids.
CREATE OR REPLACE FUNCTION "write_email_events"() RETURNS trigger AS $$
DECLARE
  own text := "transaction_prefix"();
BEGIN
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
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;
