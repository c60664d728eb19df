import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A folder with the project's migrations, to which a test adds further ones. */
export function createMigrationsFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-migrations-'))
  cpSync(path.resolve(import.meta.dirname, '../../prisma/migrations'), folder, { recursive: true })
  let count = 0
  return {
    folder,
    /** Adds a migration. Returns its name. */
    add(sql: string): string {
      count += 1
      const name = `20990101${String(count).padStart(6, '0')}_further`
      mkdirSync(path.join(folder, name))
      writeFileSync(path.join(folder, name, 'migration.sql'), sql)
      return name
    },
  }
}

/** A table of tenants with foreign keys and a trigger, as Prisma and the project write them. */
export const tableOfTenants = `
-- A remark; with a semicolon, and 'a quote.
CREATE TABLE "badge" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "user_id" TEXT NOT NULL,
    "account_id" TEXT COLLATE "C",
    "name" TEXT NOT NULL DEFAULT 'a;b',
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),

    CONSTRAINT "badge_pkey" PRIMARY KEY ("tenant_app_id","id")
);
INSERT INTO "badge" ("tenant_app_id", "id", "user_id") SELECT "tenant_app_id", 'bdg_' || "id", "id" FROM "user";
CREATE INDEX "badge_user_idx" ON "badge"("tenant_app_id", "user_id");
ALTER TABLE "badge" ADD CONSTRAINT "badge_tenant_app_id_fkey" FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "badge" ADD CONSTRAINT "badge_user_fkey" FOREIGN KEY ("tenant_app_id", "user_id") REFERENCES "user"("tenant_app_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE TRIGGER "badge_created" AFTER INSERT ON "badge" REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_events"('BADGE_CREATED', '', '', '');
`

/** A table that each node has, and one of its own. */
export const tableOfNodes = `
CREATE TYPE "region_kind" AS ENUM ('HOME', 'AWAY');
CREATE TABLE "region" ("name" TEXT NOT NULL, "kind" "region_kind" NOT NULL, CONSTRAINT "region_pkey" PRIMARY KEY ("name"));
INSERT INTO "region" VALUES ('north', 'HOME');
`

export const column = `ALTER TABLE "user" ADD COLUMN "nickname" TEXT NOT NULL DEFAULT '', ADD COLUMN "region" TEXT;
UPDATE "user" SET "nickname" = lower("name");`

export const index = `
DROP INDEX CONCURRENTLY IF EXISTS "user_nickname_idx";
CREATE INDEX CONCURRENTLY "user_nickname_idx" ON "user"("tenant_app_id", "nickname");
`

export const enumValue = `ALTER TYPE "job_status" ADD VALUE 'PAUSED';`

/** What each server has for itself, and a function of one server that would lose events on a node. */
export const eachServer = `
ALTER TABLE "event_state" ADD COLUMN "further" bigint NOT NULL DEFAULT 7;
CREATE SEQUENCE "further_number" CACHE 16;
GRANT USAGE ON SEQUENCE "further_number" TO PUBLIC;
CREATE FUNCTION "further"() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT "further" + nextval('further_number') - 1 FROM "event_state" $$;
CREATE OR REPLACE FUNCTION "write_events"() RETURNS trigger AS $$ BEGIN RETURN NULL; END $$ LANGUAGE plpgsql;
ALTER FUNCTION "write_events"() SET search_path = public, pg_temp;
`
