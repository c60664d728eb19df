-- CreateTable
CREATE TABLE "signing_key" (
    "id" TEXT NOT NULL,
    "public_key" JSON NOT NULL,
    "private_key" JSON,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "retired_at" TIMESTAMPTZ(3),

    CONSTRAINT "signing_key_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "api_key_tenant_app_id_created_at_id_idx" ON "api_key"("tenant_app_id", "created_at", "id");
