-- CreateTable
CREATE TABLE "operation_usage" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "key_id" TEXT NOT NULL,
    "client_name" TEXT,
    "client_version" TEXT,
    "operation_name" TEXT,
    "operation_hash" TEXT,
    "requests" BIGINT NOT NULL,
    "errors" BIGINT NOT NULL,
    "points" BIGINT NOT NULL,
    "durations" BIGINT[],
    "fields" TEXT[],
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "operation_usage_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateTable
CREATE TABLE "field_usage" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "field" TEXT NOT NULL,
    "requests" BIGINT NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "field_usage_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateIndex
CREATE INDEX "operation_usage_day_idx" ON "operation_usage"("day");

-- CreateIndex
CREATE INDEX "field_usage_day_idx" ON "field_usage"("day");

-- AddForeignKey
ALTER TABLE "operation_usage" ADD CONSTRAINT "operation_usage_tenant_app_id_fkey" FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "field_usage" ADD CONSTRAINT "field_usage_tenant_app_id_fkey" FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;
