-- An index for each order and filter. Each statement runs by itself, so that no table is locked while an index is built. An interrupted
-- statement leaves an invalid index behind, which the next run removes.

DROP INDEX CONCURRENTLY IF EXISTS "user_tenant_app_id_updated_at_id_idx";
CREATE INDEX CONCURRENTLY "user_tenant_app_id_updated_at_id_idx" ON "user"("tenant_app_id", "updated_at", "id");

-- Imported texts can be too long for an index, so it has their first 200 characters.
DROP INDEX CONCURRENTLY IF EXISTS "user_name_idx";
CREATE INDEX CONCURRENTLY "user_name_idx" ON "user"("tenant_app_id", left("name", 200), "id");

DROP INDEX CONCURRENTLY IF EXISTS "user_email_idx";
CREATE INDEX CONCURRENTLY "user_email_idx" ON "user"("tenant_app_id", left("email", 200));

-- With the column itself, PostgreSQL would use these indexes for statements that do not search.
DROP INDEX CONCURRENTLY IF EXISTS "user_search_idx";
CREATE INDEX CONCURRENTLY "user_search_idx" ON "user" USING GIN (("tenant_app_id" || ''), "name" gin_trgm_ops, "email" gin_trgm_ops);

DROP INDEX CONCURRENTLY IF EXISTS "account_tenant_app_id_created_at_id_idx";
CREATE INDEX CONCURRENTLY "account_tenant_app_id_created_at_id_idx" ON "account"("tenant_app_id", "created_at", "id");

DROP INDEX CONCURRENTLY IF EXISTS "account_tenant_app_id_updated_at_id_idx";
CREATE INDEX CONCURRENTLY "account_tenant_app_id_updated_at_id_idx" ON "account"("tenant_app_id", "updated_at", "id");

DROP INDEX CONCURRENTLY IF EXISTS "account_tenant_app_id_platform_user_id_idx";
CREATE INDEX CONCURRENTLY "account_tenant_app_id_platform_user_id_idx" ON "account"("tenant_app_id", "platform", "user_id");

DROP INDEX CONCURRENTLY IF EXISTS "account_tenant_app_id_status_created_at_id_idx";
CREATE INDEX CONCURRENTLY "account_tenant_app_id_status_created_at_id_idx" ON "account"("tenant_app_id", "status", "created_at", "id");

DROP INDEX CONCURRENTLY IF EXISTS "account_search_idx";
CREATE INDEX CONCURRENTLY "account_search_idx" ON "account" USING GIN (("tenant_app_id" || ''), "display_name" gin_trgm_ops, "platform_account_id" gin_trgm_ops);

DROP INDEX CONCURRENTLY IF EXISTS "profile_tenant_app_id_updated_at_id_idx";
CREATE INDEX CONCURRENTLY "profile_tenant_app_id_updated_at_id_idx" ON "profile"("tenant_app_id", "updated_at", "id");

-- Rows without a number come last in both directions.
DROP INDEX CONCURRENTLY IF EXISTS "profile_followers_ascending_idx";
CREATE INDEX CONCURRENTLY "profile_followers_ascending_idx" ON "profile"("tenant_app_id", coalesce("followers_count", 9007199254740992), "id");

DROP INDEX CONCURRENTLY IF EXISTS "profile_followers_descending_idx";
CREATE INDEX CONCURRENTLY "profile_followers_descending_idx" ON "profile"("tenant_app_id", coalesce("followers_count", -1), "id");

DROP INDEX CONCURRENTLY IF EXISTS "profile_tenant_app_id_platform_idx";
CREATE INDEX CONCURRENTLY "profile_tenant_app_id_platform_idx" ON "profile"("tenant_app_id", "platform");

DROP INDEX CONCURRENTLY IF EXISTS "profile_tenant_app_id_verified_idx";
CREATE INDEX CONCURRENTLY "profile_tenant_app_id_verified_idx" ON "profile"("tenant_app_id", "verified");

DROP INDEX CONCURRENTLY IF EXISTS "profile_country_idx";
CREATE INDEX CONCURRENTLY "profile_country_idx" ON "profile"("tenant_app_id", left("country", 200));

DROP INDEX CONCURRENTLY IF EXISTS "profile_category_idx";
CREATE INDEX CONCURRENTLY "profile_category_idx" ON "profile"("tenant_app_id", left("category", 200));

DROP INDEX CONCURRENTLY IF EXISTS "profile_search_idx";
CREATE INDEX CONCURRENTLY "profile_search_idx" ON "profile" USING GIN (("tenant_app_id" || ''), "username" gin_trgm_ops, "full_name" gin_trgm_ops, "display_name" gin_trgm_ops);

DROP INDEX CONCURRENTLY IF EXISTS "job_tenant_app_id_status_created_at_id_idx";
CREATE INDEX CONCURRENTLY "job_tenant_app_id_status_created_at_id_idx" ON "job"("tenant_app_id", "status", "created_at", "id");
