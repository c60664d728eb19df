DROP INDEX CONCURRENTLY IF EXISTS "user_tenant_app_id_external_id_key";
CREATE UNIQUE INDEX CONCURRENTLY "user_tenant_app_id_external_id_key" ON "user"("tenant_app_id", "external_id");

-- The tenant in this form is that of searches, so that no other statement uses the index. Users without metadata are not in it.
DROP INDEX CONCURRENTLY IF EXISTS "user_metadata_idx";
CREATE INDEX CONCURRENTLY "user_metadata_idx" ON "user" USING GIN (("tenant_app_id" || ''), ("metadata"::jsonb) jsonb_path_ops) WHERE "metadata" IS NOT NULL;
