-- What only gateways of version 0.1.0 needed, and `migrate deploy --contract` of version 0.2.0 drops.

-- The notifications of each change of a job, which version 0.1.0 listens to. With them, half as many changes of jobs can be written per second.
DROP TRIGGER IF EXISTS "job_created_or_removed" ON "job";
DROP TRIGGER IF EXISTS "job_changed" ON "job";
DROP FUNCTION IF EXISTS "notify_job_changed"();

-- The indexes with which version 0.1.0 searches.
DROP INDEX CONCURRENTLY IF EXISTS "user_search_idx";
DROP INDEX CONCURRENTLY IF EXISTS "account_search_idx";
DROP INDEX CONCURRENTLY IF EXISTS "profile_search_idx";
