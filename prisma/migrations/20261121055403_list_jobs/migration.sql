-- CreateIndex
CREATE INDEX "job_tenant_app_id_created_at_id_idx" ON "job"("tenant_app_id", "created_at", "id");
