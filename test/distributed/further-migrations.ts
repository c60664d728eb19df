import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { linkPackages } from '../support/copy.ts'
import { projectRoot } from '../support/docs.ts'

// The objects of the further migrations, for the lists of packages/database/src/own-objects.ts. What they do not list
// belongs to other programs.
const lists = `
for (const name of ['badge', 'region', 'half']) {
  ;(modelTables as string[]).push(name)
  ;(ownTables as Map<string, readonly string[]>).set(name, rows)
}
;(ownSequences as Map<string, readonly string[]>).set('further_number', ['USAGE'])
;(calledFunctions as string[]).push('further()')
`

/** The next version: a copy of this one, to which a test adds the further migrations. Its lists have their objects. */
export async function createNextVersion() {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-next-'))
  for (const name of ['bin', 'packages', 'prisma', 'src', 'package.json'])
    cpSync(path.join(projectRoot, name), path.join(folder, name), { recursive: true })
  linkPackages(folder)
  appendFileSync(path.join(folder, 'packages/database/src/own-objects.ts'), lists)
  const load = (file: string) => import(path.join(folder, file))
  const { openDatabase }: typeof import('../../src/database.ts') = await load('src/database.ts')
  const { deployMigrations, readMigrationStatus }: typeof import('@fusion-gateway/migrate') = await load(
    'packages/migrate/src/index.ts',
  )
  let count = 0
  return {
    /** The file of its command `fusion`. */
    command: path.join(folder, 'bin/fusion.js'),
    openDatabase,
    deployMigrations,
    readMigrationStatus,
    /** Adds a migration. Returns its name. */
    add(sql: string): string {
      count += 1
      const name = `20990101${String(count).padStart(6, '0')}_further`
      const added = path.join(folder, 'prisma/migrations', name)
      mkdirSync(added)
      writeFileSync(path.join(added, 'migration.sql'), sql)
      return name
    },
    /** Writes the script that drops what only the previous version needs. */
    writeContract: (sql: string) => writeFileSync(path.join(folder, 'prisma/contract.sql'), sql),
    remove: () => rmSync(folder, { recursive: true }),
  }
}

export type NextVersion = Awaited<ReturnType<typeof createNextVersion>>

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
