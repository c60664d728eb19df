-- As before (migration suspended_tenants), and an id is kept with the prefix of its own type only: an account can have an id that clients have chosen,
-- such as that of the profile of another user, and texts that name the other one were erased.
CREATE OR REPLACE FUNCTION "request_erasure"() RETURNS trigger SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO "erasure" ("tenant_app_id", "id", "names")
  SELECT OLD."tenant_app_id", OLD."id", ARRAY(
    SELECT "name" FROM "account"
    LEFT JOIN "profile" ON "profile"."tenant_app_id" = OLD."tenant_app_id" AND "profile"."account_id" = "account"."id",
    LATERAL (VALUES ('acc\_%', "account"."id"), ('prf\_%', "profile"."id")) AS "named" ("pattern", "name")
    WHERE "account"."tenant_app_id" = OLD."tenant_app_id" AND "account"."user_id" = OLD."id" AND "name" LIKE "pattern")
  -- The jobs and responses of a tenant are deleted with it.
  FROM "tenant_app" WHERE "tenant_app"."id" = OLD."tenant_app_id" AND "tenant_app"."deleting_since" IS NULL
  ON CONFLICT ("tenant_app_id", "id") DO UPDATE SET
    "names" = excluded."names", "deleted_at" = excluded."deleted_at", "due_at" = excluded."due_at", "jobs" = NULL, "seen_in" = NULL;
  RETURN OLD;
END
$$ LANGUAGE plpgsql;
