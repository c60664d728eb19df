-- The events of a time. Their ids have the order in which transactions began to write, so they are found by the time alone.
DROP INDEX CONCURRENTLY IF EXISTS "event_tenant_app_id_created_at_idx";
CREATE INDEX CONCURRENTLY "event_tenant_app_id_created_at_idx" ON "event"("tenant_app_id", "created_at");
