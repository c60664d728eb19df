-- Gateways of the previous release search with the indexes of the texts as they are: the next release drops these.
DROP INDEX CONCURRENTLY IF EXISTS "user_folded_search_idx";
CREATE INDEX CONCURRENTLY "user_folded_search_idx" ON "user" USING GIN (("tenant_app_id" || ''), "search_fold"("name") gin_trgm_ops, "search_fold"("email") gin_trgm_ops);

DROP INDEX CONCURRENTLY IF EXISTS "account_folded_search_idx";
CREATE INDEX CONCURRENTLY "account_folded_search_idx" ON "account" USING GIN (("tenant_app_id" || ''), "search_fold"("display_name") gin_trgm_ops, "search_fold"("platform_account_id") gin_trgm_ops);

DROP INDEX CONCURRENTLY IF EXISTS "profile_folded_search_idx";
CREATE INDEX CONCURRENTLY "profile_folded_search_idx" ON "profile" USING GIN (("tenant_app_id" || ''), "search_fold"("username") gin_trgm_ops, "search_fold"("full_name") gin_trgm_ops, "search_fold"("display_name") gin_trgm_ops);
