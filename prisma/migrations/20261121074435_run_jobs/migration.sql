-- AlterTable
ALTER TABLE "job" ADD COLUMN     "error" JSON,
ADD COLUMN     "finished_at" TIMESTAMPTZ(3),
ADD COLUMN     "idempotency_key" TEXT,
ADD COLUMN     "lease_expires_at" TIMESTAMPTZ(3),
ADD COLUMN     "lease_token" TEXT,
ADD COLUMN     "max_attempts" INTEGER,
ADD COLUMN     "progress" DOUBLE PRECISION,
ADD COLUMN     "progress_message" TEXT,
ADD COLUMN     "run_at" TIMESTAMPTZ(3),
ADD COLUMN     "started_at" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "job_status_job_type_tenant_app_id_run_at_idx" ON "job"("status", "job_type", "tenant_app_id", "run_at");

-- CreateIndex
CREATE INDEX "job_finished_at_idx" ON "job"("finished_at");

-- CreateIndex
CREATE UNIQUE INDEX "job_tenant_app_id_idempotency_key_key" ON "job"("tenant_app_id", "idempotency_key");

-- Whoever follows jobs is told of each change, in whichever process it was made, when its transaction commits:
-- [tenant, job, status, status before], null where there is none. Writing only the lease is no change.
CREATE FUNCTION "notify_job_changed"() RETURNS trigger AS $$
DECLARE
  job record;
BEGIN
  IF TG_OP = 'DELETE' THEN job := OLD; ELSE job := NEW; END IF;
  PERFORM pg_notify('job_changed', json_build_array(
    job."tenant_app_id",
    job."id",
    CASE WHEN TG_OP <> 'DELETE' THEN NEW."status" END,
    CASE WHEN TG_OP <> 'INSERT' THEN OLD."status" END
  )::text);
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER "job_created_or_removed" AFTER INSERT OR DELETE ON "job"
  FOR EACH ROW EXECUTE FUNCTION "notify_job_changed"();

CREATE TRIGGER "job_changed" AFTER UPDATE ON "job"
  FOR EACH ROW WHEN ((OLD."updated_at", OLD."status", OLD."progress", OLD."progress_message")
    IS DISTINCT FROM (NEW."updated_at", NEW."status", NEW."progress", NEW."progress_message"))
  EXECUTE FUNCTION "notify_job_changed"();
