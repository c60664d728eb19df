-- Users who were deleted, and whom stored responses and jobs may still name. Maintenance removes the rows (src/domain/erasure/erase-users.ts).
CREATE TABLE "erasure" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "names" TEXT[],
    "deleted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "jobs" TEXT[],

    CONSTRAINT "erasure_pkey" PRIMARY KEY ("tenant_app_id", "id")
);

ALTER TABLE "erasure" ADD CONSTRAINT "erasure_tenant_app_id_fkey"
  FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The accounts and profiles are deleted after this, with the user.
CREATE FUNCTION "request_erasure"() RETURNS trigger AS $$
BEGIN
  INSERT INTO "erasure" ("tenant_app_id", "id", "names")
  SELECT OLD."tenant_app_id", OLD."id", ARRAY(
    SELECT unnest(ARRAY["account"."id", "profile"."id"]) FROM "account"
    LEFT JOIN "profile" ON "profile"."tenant_app_id" = OLD."tenant_app_id" AND "profile"."account_id" = "account"."id"
    WHERE "account"."tenant_app_id" = OLD."tenant_app_id" AND "account"."user_id" = OLD."id")
  -- The jobs and responses of a tenant are deleted with it.
  FROM "tenant_app" WHERE "tenant_app"."id" = OLD."tenant_app_id"
  ON CONFLICT ("tenant_app_id", "id") DO UPDATE SET
    "names" = excluded."names", "deleted_at" = excluded."deleted_at", "due_at" = excluded."due_at", "jobs" = NULL;
  RETURN OLD;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER "erased" BEFORE DELETE ON "user" FOR EACH ROW EXECUTE FUNCTION "request_erasure"();
