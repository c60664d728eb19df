-- The events of a user that are not about the user. Those about the user are found by the index of resources, so that they need one index less.
DROP INDEX CONCURRENTLY IF EXISTS "event_user_id_idx";
CREATE INDEX CONCURRENTLY "event_user_id_idx" ON "event"("tenant_app_id", "user_id", "id") WHERE "user_id" <> "resource_id";

DROP INDEX CONCURRENTLY IF EXISTS "event_tenant_app_id_user_id_id_idx";
